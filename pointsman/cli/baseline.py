"""`pointsman baseline`: what nightly runs are held against. Works on the database itself.

A baseline stands for one model, one suite and one detector; pinning again makes a newer version, the older ones stay.
"""

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

import typer
from rich.table import Table

from base.clock import SystemClock
from breaker.ports import StoreUnavailable
from monitor.nightly.baseline import NotPinnable, baseline_of
from monitor.nightly.compare import interval
from monitor.nightly.records import Baseline, RunState
from pointsman.assemble import StartError, open_sql
from pointsman.cli.check import DEFAULT_FILE, settings_or_exit
from pointsman.cli.tables import print_table
from pointsman.cli.words import moment
from pointsman.settings import Settings
from store.sql_evals import SqlEvals

T = TypeVar("T")
app = typer.Typer(no_args_is_help=True, help="Baselines of the nightly evaluation: pin, show, runs.")
ConfigOption = typer.Option(DEFAULT_FILE, "--config", "-c", help="The configuration file.")


@app.command()
def pin(
    run: str = typer.Argument(help="A run that asked the whole suite; `baseline runs` lists them."),
    model: list[str] = typer.Option([], help="A model of the run; repeat for more. None given: all of them."),
    note: str = typer.Option("", help="Why this run: a release, a new prompt."),
    config: Path = ConfigOption,
) -> None:
    """Hold later nights against this run."""
    settings = settings_or_exit(config)

    async def act(evals: SqlEvals) -> list[Baseline]:
        found = await evals.run(run)
        if found is None:
            raise NotPinnable(f"no run {run}; pointsman baseline runs lists them")
        results, now_s, by = await evals.results(run), SystemClock().now_s(), getpass.getuser()
        # All are checked before the first is pinned.
        fresh = [
            baseline_of(found, name, results, settings.nightly, at=now_s, by=by, note=note)
            for name in model or found.models
        ]
        return [await evals.pin(one) for one in fresh]

    for one in _with_evals(settings, act):
        typer.echo(f"{one.model}: baseline version {one.version}, {one.tally.ratio:.1%} of {one.n} ({one.run_id})")


@app.command()
def show(config: Path = ConfigOption) -> None:
    """The baselines in force, newest version of each."""
    table = Table(
        "model", "rate", "95 %", "k of n", "JSON valid", "suite", "detector", "version", "pinned", "by", "run", "note"
    )
    for one in _with_evals(settings_or_exit(config), lambda evals: evals.baselines()):
        low, high = interval(one.tally)
        table.add_row(
            one.model,
            f"{one.tally.ratio:.1%}",
            f"{low:.1%}–{high:.1%}",
            f"{one.k} of {one.n}",
            f"{one.json_valid} of {one.json_items}",
            one.suite_version,
            one.detector_version,
            str(one.version),
            moment(one.pinned_at),
            one.pinned_by,
            one.run_id,
            one.note,
        )
    print_table(table)


@app.command()
def runs(limit: int = typer.Option(20, min=1), config: Path = ConfigOption) -> None:
    """The runs that are kept, newest first."""
    table = Table("run", "began", "state", "suite", "prompts", "models", "not asked")
    for one in _with_evals(settings_or_exit(config), lambda evals: evals.runs(limit)):
        state = str(one.state) if one.state is not RunState.RUNNING else "running or interrupted"
        prompts = f"{one.prompts}{' (sample)' if one.sampled else ''}"
        table.add_row(
            one.id, moment(one.started_at), state, one.suite_version, prompts, ", ".join(one.models), one.detail
        )
    print_table(table)


def _with_evals(settings: Settings, act: Callable[[SqlEvals], Awaitable[T]]) -> T:
    async def run() -> T:
        async with AsyncExitStack() as stack:
            return await act(SqlEvals(await open_sql(settings, stack)))

    try:
        return asyncio.run(run())
    except NotPinnable as error:
        typer.echo(f"pointsman baseline: {error}", err=True)
        raise typer.Exit(2) from error
    except (StartError, StoreUnavailable) as error:
        typer.echo(f"pointsman baseline: {error}", err=True)
        raise typer.Exit(1) from error

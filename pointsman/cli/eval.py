"""`pointsman eval`: runs the evaluation suite by hand, with progress; the same code as the nightly run.

Works on the database itself and needs no running service. What it finds is kept like a night's run, told to nobody.
Exit code 0: no model is worse than its baseline; 1: one is; 2: bad input; 130: interrupted, and resumable.
"""

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer
import yaml
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from base.clock import Clock, SystemClock
from breaker.ports import StoreUnavailable
from monitor.nightly.asking import Progress as Asked
from monitor.nightly.asking import Target
from monitor.nightly.compare import BAD
from monitor.nightly.estimate import Estimate, estimated
from monitor.nightly.night import Night, begun
from monitor.nightly.policy import KeptReplies, NightlyPolicy
from monitor.nightly.records import Run, RunState, Trigger
from monitor.nightly.shapes import Lure
from monitor.nightly.suite import Suite, SuiteError, of_lures, sample
from monitor.report.words import STANDINGS, name_of
from pointsman.assemble import StartError, open_sql
from pointsman.cli.check import DEFAULT_FILE, settings_or_exit
from pointsman.cli.progress import bar
from pointsman.cli.tables import print_table
from pointsman.network import way_to_vendors
from pointsman.nightly import UnknownModel, evaluation_of, policy_of, suite_of, targets_of
from pointsman.settings import Settings
from store.sql_evals import SqlEvals
from upstream.client import Upstream

BAD_INPUT, INTERRUPTED = 2, 130
USUAL_DAYS = 30 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line said, checked."""

    settings: Settings
    policy: NightlyPolicy
    suite: Suite
    targets: list[Target]
    as_sent: bool


def evaluate(
    config: Annotated[Path, typer.Option("--config", "-c", help="The configuration file.")] = DEFAULT_FILE,
    suite: Annotated[
        list[Path] | None, typer.Option(help="A suite file; repeat for more. None: the built-in one.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help="A model to ask; repeat for more. None: all.")] = None,
    lure: Annotated[list[Lure] | None, typer.Option(help="Only prompts of this kind; repeat for more.")] = None,
    sample_size: Annotated[
        int | None, typer.Option("--sample", min=1, help="Only so many prompts, spread evenly.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Which sample.")] = 0,
    dry: Annotated[bool, typer.Option("--dry", help="Ask nothing; tell what it would cost and take.")] = False,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", help="name=value laid over every call, such as temperature=0.")
    ] = None,
    keep: Annotated[KeptReplies | None, typer.Option(help="Whose text to keep.")] = None,
    as_sent: Annotated[
        bool, typer.Option("--as-sent", help="Do not make structured calls safe first, as the router does.")
    ] = False,
    resume: Annotated[str | None, typer.Option(help="Go on with this run, which was interrupted.")] = None,
) -> None:
    """Ask models the prompts that lure them into repeating themselves, and say how they did."""
    settings = settings_or_exit(config)
    try:
        policy = _policy(policy_of(settings), parameter or [], keep)
        whole = of_lures(suite_of(policy, suite or ()), lure or ())
        chosen = whole if sample_size is None else sample(whole, sample_size, seed)
        if not chosen.prompts:
            raise ValueError("the suite has no prompt of that kind")
        asked = Wanted(
            settings=settings, policy=policy, suite=chosen, targets=targets_of(settings, model or ()), as_sent=as_sent
        )
    except (SuiteError, UnknownModel, ValueError) as error:
        typer.echo(f"pointsman eval: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    raise typer.Exit(_run_to_end(asked, dry, resume))


def _policy(policy: NightlyPolicy, pairs: list[str], keep: KeptReplies | None) -> NightlyPolicy:
    """The configured policy with the command line's changes. Raises ValueError."""
    parameters: dict[str, Any] = dict(policy.parameters)
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"--set {pair}: say name=value, such as temperature=0")
        if name in ("messages", "model", "stream"):
            raise ValueError(f"--set {pair}: {name} is the suite's own")
        parameters[name] = yaml.safe_load(value)
    return policy.model_copy(update={"parameters": parameters, "keep_replies": keep or policy.keep_replies})


def _run_to_end(asked: Wanted, dry: bool, resume: str | None) -> int:
    run_id = resume or f"eval-{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"
    try:
        return asyncio.run(_dry(asked) if dry else _evaluated(asked, run_id, resuming=resume is not None))
    except KeyboardInterrupt:
        typer.echo(f"\ninterrupted; what was answered is kept. Go on: pointsman eval --resume {run_id}", err=True)
        return INTERRUPTED
    except (StartError, StoreUnavailable) as error:
        typer.echo(f"pointsman eval: {error}\ngo on later: pointsman eval --resume {run_id}", err=True)
        return 1
    except NotResumable as error:
        typer.echo(f"pointsman eval: {error}", err=True)
        return BAD_INPUT


async def _dry(asked: Wanted) -> int:
    async with AsyncExitStack() as stack:
        runs = SqlEvals(await open_sql(asked.settings, stack))
        now_s = SystemClock().now_s()
        history = await runs.history(now_s - USUAL_DAYS, now_s)
    usual = {point.model: point.tokens_out / point.asked for point in history if point.asked}
    estimates = estimated(asked.suite.prompts, asked.targets, asked.policy, usual)
    typer.echo(
        f"suite {asked.suite.name} {asked.suite.version}: {len(asked.suite.prompts)} of {asked.suite.whole} prompts"
    )
    print_table(_estimate_table(estimates, asked.policy.currency))
    if any(estimate.cost is None for estimate in estimates):
        typer.echo("no cost is told for models without a price (models.NAME.price or nightly.prices)")
    return 0


def _estimate_table(estimates: list[Estimate], currency: str) -> Table:
    table = Table(
        "model", "prompts", "tokens in", "tokens out, usual", "at most", f"cost, {currency}", "at most", "about"
    )
    for one in estimates:
        cost, most = (("–" if value is None else f"{value:.2f}") for value in (one.cost, one.most_cost))
        minutes = f"{max(1, round(one.seconds / 60))} min"
        figures = (f"{value:,}" for value in (one.prompts, one.tokens_in, one.tokens_out, one.most_tokens_out))
        table.add_row(one.model, *figures, cost, most, minutes)
    return table


class NotResumable(ValueError):
    """The run named does not go with what was asked; the message says why."""


async def _evaluated(asked: Wanted, run_id: str, *, resuming: bool) -> int:
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        engine = await open_sql(asked.settings, stack)
        transport = way_to_vendors(asked.settings.network)
        stack.push_async_callback(transport.aclose)
        upstream = Upstream(transport, clock, asked.settings.gate)
        bar = stack.enter_context(_bar())
        task = bar.add_task("asking", total=None, told="")
        evaluation = evaluation_of(
            asked.settings,
            asked.policy,
            upstream,
            engine,
            clock,
            Random(),
            told=lambda _result, progress: _move(bar, task, progress, asked.policy),
            as_sent=asked.as_sent,
        )
        run = await _begin(evaluation.runs, asked, run_id, clock, resuming=resuming)
        night = await evaluation.nightly.ask(run, asked.suite, asked.targets, again=not run.sampled)
        await evaluation.nightly.finish(night)
        bar.remove_task(task)
    return _tell(night, asked.policy)


async def _begin(runs: SqlEvals, asked: Wanted, run_id: str, clock: Clock, *, resuming: bool) -> Run:
    """The run's record, new or taken up again. Raises NotResumable."""
    fresh = begun(run_id, Trigger.MANUAL, asked.suite, asked.targets, asked.policy, clock.now_s())
    if not resuming:
        return await runs.begin(fresh)
    kept = await runs.run(run_id)
    if kept is None:
        raise NotResumable(f"no run {run_id}")
    if kept.state is not RunState.RUNNING:
        raise NotResumable(f"run {run_id} is {kept.state} already")
    if (kept.suite_version, kept.prompts, kept.models) != (fresh.suite_version, fresh.prompts, fresh.models):
        told = "give the same --suite, --model, --lure, --sample and --set as when it began"
        raise NotResumable(
            f"run {run_id} asked something else ({', '.join(kept.models)}; {kept.prompts} prompts): {told}"
        )
    if kept.detector_version != fresh.detector_version:
        told = f"by detector {kept.detector_version}, this is {fresh.detector_version}: begin a new run"
        raise NotResumable(f"run {run_id} was judged {told}")
    return kept


def _bar() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
    )
    return bar(*columns)


def _move(bar: Progress, task: TaskID, progress: Asked, policy: NightlyPolicy) -> None:
    cost = f", {progress.cost:.2f} {policy.currency}" if progress.cost else ""
    bar.update(task, total=progress.total, completed=progress.done, told=f"{progress.ill} repeat{cost}")


def _tell(night: Night, policy: NightlyPolicy) -> int:
    print_table(_result_table(night))
    if any(found.json.asked for found in night.tallies.values()):
        print_table(_json_table(night))
    if night.run.detail:
        typer.echo(night.run.detail)
    total = sum(found.cost for found in night.tallies.values())
    typer.echo(f"run {night.run.id}: {len(night.results)} answers{f', {total:.2f} {policy.currency}' if total else ''}")
    if not night.run.sampled:
        typer.echo(f"make it the baseline: pointsman baseline pin {night.run.id} --model MODEL")
    return int(any(one.standing in BAD for one in night.comparisons.values()))


def _result_table(night: Night) -> Table:
    table = Table("model", "judged", "repeat", "rate", "baseline", "standing", "chance", "classes", "not judged")
    for model, found in night.tallies.items():
        one = night.comparisons[model]
        classes = ", ".join(f"{name} {count}" for name, count in sorted(found.classes.items(), key=lambda c: -c[1]))
        faults = ", ".join(f"{name} {count}" for name, count in sorted(found.faults.items(), key=lambda f: -f[1]))
        pinned = f"{one.baseline:.1%}" if one.pinned else "–"
        chance = f"{one.chance:.3f}" if one.pinned else ""
        standing = f"{name_of(STANDINGS, 'en', one.standing)}{' (confirmed)' if one.confirmed else ''}"
        total = found.total
        table.add_row(
            model, str(total.n), str(total.k), f"{total.ratio:.1%}", pinned, standing, chance, classes, faults
        )
    return table


def _json_table(night: Night) -> Table:
    table = Table("model", "JSON asked", "parsed", "schema kept", "right", "by step", "went wrong")
    for model, found in night.tallies.items():
        j = found.json
        shares = [f"{count} ({count / j.asked:.0%})" if j.asked else "–" for count in (j.parsed, j.valid, j.right)]
        steps, reasons = (
            ", ".join(f"{name} {count}" for name, count in sorted((counts or {}).items(), key=lambda c: -c[1]))
            for counts in (j.steps, j.reasons)
        )
        table.add_row(model, str(j.asked), *shares, steps, reasons)
    return table

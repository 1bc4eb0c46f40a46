"""`pointsman report`: daily reports listed, shown and drawn again. Works on the database itself.

`render` writes HTML, Markdown, JSON or CSV, also of a run that was started by hand (`--run`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import SystemClock
from breaker.ports import StoreUnavailable
from monitor.report.charts import percent
from monitor.report.digest import digest
from monitor.report.document import Report, UnreadableReport, from_document
from monitor.report.export import as_csv, as_json
from monitor.report.html import render
from monitor.report.words import STANDINGS, name_of
from pointsman.assemble import StartError, open_sql
from pointsman.cli.asking import JsonOption, tell
from pointsman.cli.check import DEFAULT_FILE, config_or_demo, settings_or_exit
from pointsman.cli.tables import print_table
from pointsman.cli.words import moment
from pointsman.nightly import evaluation_of, policy_of
from pointsman.reporting import made_report
from pointsman.settings import Settings
from store.sql_reports import SqlReports
from upstream.client import Upstream
from upstream.transport import FastTransport

T = TypeVar("T")
app = typer.Typer(no_args_is_help=True, help="Daily reports: list, show, render.")
ConfigOption = typer.Option(DEFAULT_FILE, "--config", "-c", help="The configuration file.")


class Form(StrEnum):
    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"
    CSV = "csv"


class Tongue(StrEnum):
    ZH = "zh"
    EN = "en"


class NoReport(Exception):
    """There is no such report; the message says which there are."""


DayArgument = typer.Argument(help="A day, 2026-01-31; none: the newest.")
RunOption = typer.Option(help="Of this evaluation run instead, also one started by hand.")
LanguageOption = typer.Option("--language", help="zh or en; none: that of the alerts.")


@app.command("list")
def list_reports(limit: int = typer.Option(30, min=1), config: Path = ConfigOption, in_json: bool = JsonOption) -> None:
    """The reports that are kept, newest first."""
    config = config_or_demo(config)
    settings = settings_or_exit(config)
    table = Table("day", "made", "run")
    entries = _with_engine(settings, lambda engine: SqlReports(engine).reports(limit))
    for entry in entries:
        table.add_row(entry.day, moment(entry.at, settings.monitor.timezone), entry.run_id)
    tell(
        in_json,
        [asdict(entry) for entry in entries],
        lambda: print_table(table) if entries else _none_yet(config, settings),
    )


def _none_yet(config: Path, settings: Settings) -> None:
    """Said to a person instead of an empty table."""
    when = "the nightly evaluation writes one when it ends (nightly.evaluate, 03:00)"
    off = "the nightly evaluation, which writes one, is off here (nightly.enabled)"
    typer.echo(f"no report is kept yet: {when if settings.nightly.enabled else off}")
    typer.echo(f"now, by hand: pointsman eval --config {config}, then pointsman report render --run RUN")


@app.command()
def show(
    day: Annotated[str | None, DayArgument] = None,
    run: Annotated[str | None, RunOption] = None,
    language: Annotated[Tongue | None, LanguageOption] = None,
    config: Path = ConfigOption,
    in_json: bool = JsonOption,
) -> None:
    """The report in the terminal: the digest that robots get, and a table."""
    settings = settings_or_exit(config)
    if in_json:
        typer.echo(as_json(_found(settings, day, run)))
        return
    report, tongue = _found(settings, day, run), language or Tongue(settings.alerts.language)
    console = Console()
    console.print(f"{report.day}  {report.run_id}")
    from rich.markdown import Markdown  # 230 ms and the memory of a parser that no other command needs

    console.print(Markdown(digest(report, tongue.value)))
    table = Table("model", "standing", "rate", "95 %", "baseline", "k of n", "JSON right")
    for model in report.models:
        j = model.json
        table.add_row(
            model.model,
            name_of(STANDINGS, tongue.value, model.standing),
            percent(model.total.ratio),
            f"{percent(model.low)}–{percent(model.high)}",
            percent(model.baseline_rate) if model.baseline else "–",
            f"{model.total.k} of {model.total.n}",
            f"{j.right} of {j.asked}" if j.asked else "–",
        )
    console.print(table)


@app.command("render")
def render_report(
    day: Annotated[str | None, DayArgument] = None,
    run: Annotated[str | None, RunOption] = None,
    form: Annotated[Form, typer.Option("--format", help="html, md, json, csv.")] = Form.HTML,
    language: Annotated[Tongue | None, LanguageOption] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; none: standard output.")] = None,
    config: Path = ConfigOption,
) -> None:
    """Draw the report again, in any form and language."""
    settings = settings_or_exit(config)
    report, tongue = _found(settings, day, run), language or Tongue(settings.alerts.language)
    match form:
        case Form.HTML:
            text = render(report, tongue.value)
        case Form.MARKDOWN:
            text = digest(report, tongue.value) + "\n"
        case Form.JSON:
            text = as_json(report) + "\n"
        case Form.CSV:
            text = as_csv(report)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        typer.echo(f"pointsman report: {out}: {error.strerror}", err=True)
        raise typer.Exit(1) from error
    typer.echo(f"{out}: {len(text.encode()):,} bytes", err=True)


def _found(settings: Settings, day: str | None, run: str | None) -> Report:
    async def find(engine: AsyncEngine) -> Report:
        if run is not None:
            return await _of_run(settings, engine, run)
        reports = SqlReports(engine)
        entries = await reports.reports()
        wanted = day or (entries[0].day if entries else "")
        kept = await reports.report(wanted)
        if kept is None:
            there = ", ".join(entry.day for entry in entries[:7]) or "none; pointsman baseline runs lists the runs"
            raise NoReport(f"no report of {wanted or 'any day'}; kept: {there}")
        return from_document(kept)

    return _with_engine(settings, find)


async def _of_run(settings: Settings, engine: AsyncEngine, run_id: str) -> Report:
    """The report of one run as it stands, kept or not, ended or not."""
    clock, transport = SystemClock(), FastTransport()
    try:
        upstream = Upstream(transport, clock)  # nothing is asked: what is kept of the run is looked at
        evaluation = evaluation_of(settings, policy_of(settings), upstream, engine, clock, Random())
        run = await evaluation.runs.run(run_id)
        if run is None:
            raise NoReport(f"no run {run_id}; pointsman baseline runs lists them")
        night = await evaluation.nightly.look(run)
        return await made_report(night, engine, policy_of(settings), settings.monitor.timezone, clock.now_s())
    finally:
        await transport.aclose()


def _with_engine(settings: Settings, act: Callable[[AsyncEngine], Awaitable[T]]) -> T:
    async def run() -> T:
        async with AsyncExitStack() as stack:
            return await act(await open_sql(settings, stack))

    try:
        return asyncio.run(run())
    except (NoReport, UnreadableReport) as error:
        typer.echo(f"pointsman report: {error}", err=True)
        raise typer.Exit(2) from error
    except (StartError, StoreUnavailable) as error:
        typer.echo(f"pointsman report: {error}", err=True)
        raise typer.Exit(1) from error

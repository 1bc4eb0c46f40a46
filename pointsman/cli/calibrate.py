"""`pointsman calibrate`: thresholds from labelled replies, scene by scene, with the trade-off drawn.

Labels come from files (`"label": "healthy" | "degenerate"`) or, with --since, from the verdicts that people marked.
Exit code 0; 2: bad input or nothing labelled.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from html import escape
from importlib.resources import files as package
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from base.clock import SystemClock
from breaker.ports import StoreUnavailable
from monitor.replay.calibrate import ALLOWED_FALSE, LEAST_HEALTHY, LEAST_ILL, Curve, curves
from monitor.replay.records import BadLine, Stored
from monitor.report import charts
from pointsman.assemble import StartError, open_sql
from pointsman.cli.check import DEFAULT_FILE
from pointsman.cli.progress import bar
from pointsman.cli.replay import BAD_INPUT, ConfigOption, base_rules
from pointsman.cli.tables import print_table
from pointsman.replaying import read_replies, span
from pointsman.settings import Settings
from store.sql_replay import SqlReplay

BAR = 24


def calibrate(
    files: Annotated[list[Path] | None, typer.Argument(help="JSON lines of labelled replies, .gz too.")] = None,
    base: Annotated[Path, ConfigOption] = DEFAULT_FILE,
    since: Annotated[str | None, typer.Option(help="Marked verdicts of the database: 30d, 2026-01-31 ….")] = None,
    until: Annotated[str | None, typer.Option(help="To; none: now.")] = None,
    scene: Annotated[str | None, typer.Option(help="Take all replies as of this scene.")] = None,
    allowed: Annotated[
        float, typer.Option("--false-alarms", min=0, max=0.5, help="Share of healthy replies that may be flagged.")
    ] = ALLOWED_FALSE,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the curves there, as one HTML page.")] = None,
) -> None:
    """Suggest thresholds per scene, and show what each would cost in false alarms and bring in loops found."""
    if not files and since is None:
        typer.echo("pointsman calibrate: name files of labelled replies, or --since for marked verdicts", err=True)
        raise typer.Exit(BAD_INPUT)
    rules, settings = base_rules(base, needed=since is not None)
    bad: list[str] = []
    try:
        replies = list(_files(files, bad)) if files else _marked(settings, since, until)
        if scene is not None:
            replies = [_of_scene(reply, scene) for reply in replies]
        labelled = [reply for reply in replies if reply.truth is not None and reply.text is not None]
        with bar() as progress:
            task = progress.add_task("judging", total=len(labelled))
            found = curves(labelled, rules, allowed=allowed, told=lambda: progress.advance(task))
    except (OSError, EOFError, ValueError) as error:
        typer.echo(f"pointsman calibrate: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    except (StartError, StoreUnavailable) as error:
        typer.echo(f"pointsman calibrate: {error}", err=True)
        raise typer.Exit(1) from error
    for line in bad:
        typer.echo(line, err=True)
    if not found:
        typer.echo('pointsman calibrate: nothing is labelled: "label": "healthy" or "degenerate"', err=True)
        raise typer.Exit(BAD_INPUT)
    _tell(found, scene)
    if out is not None:
        _write(out, found)
    raise typer.Exit(BAD_INPUT if bad else 0)


def _of_scene(reply: Stored, scene: str) -> Stored:
    return replace(reply, scene=scene)


def _files(files: list[Path], bad: list[str]) -> Iterator[Stored]:
    for file, reply in read_replies(files):
        if isinstance(reply, BadLine):
            bad.append(f"{file}: line {reply.number}: {reply.why}")
        else:
            yield reply


def _marked(settings: Settings | None, since: str | None, until: str | None) -> list[Stored]:
    assert settings is not None  # asked for before
    begin, end = span(since, until, settings.monitor.timezone, SystemClock().now_s())

    async def read() -> list[Stored]:
        async with AsyncExitStack() as stack:
            return [reply async for reply in SqlReplay(await open_sql(settings, stack)).marked(begin, end)]

    return asyncio.run(read())


def _tell(found: list[Curve], scene: str | None) -> None:
    """One line for each threshold; the whole curve of those that have something to choose, or of the one scene asked for."""
    console = Console(highlight=False)
    print_table(_overview(found))
    for curve in found:
        if scene is not None or (curve.enough and curve.bends):
            print_table(_whole(curve))
    if not all(curve.enough for curve in found):
        console.print(f"few: under {LEAST_HEALTHY} healthy or {LEAST_ILL} degenerate replies, so nothing is suggested")
    moves = [curve for curve in found if curve.moves]
    if not moves:
        compared = any(curve.enough for curve in found)
        console.print("nothing is better than what is in force" if compared else "nothing was compared")
        return
    console.print("\nsuggested, for pointsman.yaml:\n\nprofiles:")
    for scene in dict.fromkeys(curve.scene for curve in moves):
        console.print(f"  {scene or 'chat'}:")
        for curve in (curve for curve in moves if curve.scene == scene):
            console.print(f"    {curve.name}: {curve.suggested:g}  # was {curve.now:g}")
    console.print("\nTry it on other replies before you switch it on: pointsman replay FILE --config other.yaml")


def _overview(found: list[Curve]) -> Table:
    table = Table("scene", "threshold", "healthy", "degenerate", "in force", "found", "false alarms", "suggested", "")
    for curve in found:
        now = curve.at(curve.now)
        note = "few" if not curve.enough else "" if curve.bends else "moving it changes nothing"
        table.add_row(
            curve.scene or "–",
            curve.name,
            str(curve.healthy),
            str(curve.ill),
            f"{curve.now:g}",
            f"{now.found} ({curve.found_rate(now):.0%})",
            f"{now.false} ({curve.false_rate(now)[0]:.1%})",
            f"→ {curve.suggested:g}" if curve.moves else "",
            note,
        )
    return table


def _whole(curve: Curve) -> Table:
    title = f"{curve.scene or 'no scene'}: {curve.name}, {curve.healthy} healthy and {curve.ill} degenerate replies"
    table = Table("", "line", "found", "", "false alarms", "at most (95 %)", title=title, title_justify="left")
    for point in curve.points:
        rate, most = curve.false_rate(point)
        mark = ("→" if point.value == curve.suggested and curve.moves else "") + (
            "now" if point.value == curve.now else ""
        )
        share = curve.found_rate(point)
        bar = "█" * round(share * BAR) + "·" * (BAR - round(share * BAR))
        table.add_row(mark, f"{point.value:g}", f"{share:.1%}", bar, f"{point.false} ({rate:.1%})", f"{most:.1%}")
    return table


def _write(out: Path, found: list[Curve]) -> None:
    css = (package("monitor.report") / "templates" / "report.css").read_text(encoding="utf-8")
    drawn = "".join(
        f"<section><h2>{escape(c.scene or 'no scene')} · {escape(c.name)}</h2>"
        f'<p class="note">{c.healthy} healthy, {c.ill} degenerate; in force {c.now:g}, suggested {c.suggested:g}</p>'
        f"{_curve(c)}</section>"
        for c in found
    )
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>Thresholds</title><style>{css}main .chart{{max-width:460px}}</style></head>"
        f"<body><header><h1>Thresholds</h1></header><main>{drawn}</main></body></html>"
    )
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        typer.echo(f"pointsman calibrate: {out}: {error.strerror}", err=True)
        raise typer.Exit(1) from error
    typer.echo(f"{out}: {len(found)} curves", err=True)


def _curve(curve: Curve) -> str:
    points = [(curve.false_rate(point)[0], curve.found_rate(point)) for point in curve.points]
    now, best = (curve.at(value) for value in (curve.now, curve.suggested))
    return charts.curve(
        points,
        (curve.false_rate(best)[0], curve.found_rate(best)) if curve.moves else None,
        (curve.false_rate(now)[0], curve.found_rate(now)),
        f"{curve.scene} {curve.name}",
        "false alarms among healthy replies",
        "degenerate replies found",
    )

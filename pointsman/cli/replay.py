"""`pointsman replay`: stored replies judged by other rules. The way to try a threshold before it is switched on.

Reads JSON lines (.gz too) or, with --since, the calls that are kept in the database. Needs no running service.
Exit code 0; 2: bad input (with files, the other lines are judged all the same).
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from base.clock import SystemClock
from breaker.ports import StoreUnavailable
from detector.batch import excerpt, json_line
from monitor.replay.compare import Outcome, Replayed, by_scene, gathered, judged
from monitor.replay.records import BadLine, Stored
from monitor.replay.rules import Rules
from monitor.replay.timeline import NotPlayable, Story, stories
from pointsman.assemble import StartError, open_sql
from pointsman.cli.check import DEFAULT_FILE, settings_or_exit
from pointsman.cli.local_sql import with_sql
from pointsman.cli.progress import bar
from pointsman.cli.tables import print_table
from pointsman.cli.words import moment
from pointsman.replaying import read_replies, read_rules, rules_of, span
from pointsman.settings import Settings, SettingsError
from store.sql_replay import Mark, SqlReplay

BAD_INPUT = 2
ConfigOption = typer.Option("--base", "-b", help="The configuration in force, and its database.")


def replay(
    files: Annotated[list[Path] | None, typer.Argument(help="JSON lines of replies, .gz too.")] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="The other rules: a pointsman.yaml, or its gate, breaker, profiles."),
    ] = None,
    base: Annotated[Path, ConfigOption] = DEFAULT_FILE,
    since: Annotated[
        str | None, typer.Option(help="From the database instead: 7d, 36h, 2026-01-31, 2026-01-31T08:00.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="To; none: now.")] = None,
    model: Annotated[str | None, typer.Option(help="Only of this model.")] = None,
    show: Annotated[int, typer.Option(min=0, help="So many changed verdicts with their text.")] = 10,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write every verdict there, as JSON lines.")] = None,
) -> None:
    """Judge stored replies by other rules: verdicts that change, false alarms by scene, what the breaker would have done."""
    if not files and since is None:
        _fail("name files of replies, or --since for those in the database")
    if files and (since or until):
        _fail("--since and --until are for the database; give either them or files")
    before, settings = base_rules(base, needed=since is not None)
    after = _other(config, before)
    try:
        bad: list[str] = []
        with bar() as progress:
            task = progress.add_task("judging", total=None)

            def pairs(replies: Iterator[Stored]) -> Iterator[tuple[Outcome, Stored]]:
                for reply in replies:
                    if model is None or reply.model == model:
                        yield judged(reply, before, after), reply
                    progress.advance(task)

            source = _of_files(files, bad) if files else _of_sql(settings, since, until, model)
            found = gathered(pairs(source), most=show)
    except (OSError, EOFError, ValueError) as error:
        _fail(str(error))
    except (StartError, StoreUnavailable) as error:
        typer.echo(f"pointsman replay: {error}", err=True)
        raise typer.Exit(1) from error
    for line in bad:
        typer.echo(line, err=True)
    _tell(found, before, after, settings.monitor.timezone if settings else "UTC")
    if out is not None:
        _write(out, found)
    raise typer.Exit(BAD_INPUT if bad else 0)


def mark(
    reply: Annotated[str, typer.Argument(help="The request's id, or that of one failed reply.")],
    verdict: Annotated[Mark, typer.Argument(help="right: it was degenerate; wrong: a false alarm.")],
    base: Annotated[Path, ConfigOption] = DEFAULT_FILE,
) -> None:
    """Say whether a verdict was right: what is marked is the labelled set of `calibrate --since`."""
    count = with_sql(base, lambda engine: SqlReplay(engine).mark(reply, verdict))
    if not count:
        typer.echo(f"pointsman mark: no failed reply of {reply}", err=True)
        raise typer.Exit(1)
    typer.echo(f"{count} marked {verdict.value or 'as not looked at'}")


def _fail(told: str) -> NoReturn:
    typer.echo(f"pointsman replay: {told}", err=True)
    raise typer.Exit(BAD_INPUT)


def base_rules(file: Path, *, needed: bool) -> tuple[Rules, Settings | None]:
    """The rules in force; without a configuration in the default place, the product's own."""
    if not needed and file == DEFAULT_FILE and not file.exists():
        return Rules(), None
    settings = settings_or_exit(file)
    return rules_of(settings), settings


def _other(file: Path | None, before: Rules) -> Rules:
    if file is None:
        return before
    try:
        return read_rules(file, os.environ)
    except (SettingsError, OSError, UnicodeDecodeError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(BAD_INPUT) from error


def _of_files(files: list[Path], bad: list[str]) -> Iterator[Stored]:
    for file, reply in read_replies(files):
        if isinstance(reply, BadLine):
            bad.append(f"{file}: line {reply.number}: {reply.why}")
        else:
            yield reply


def _of_sql(settings: Settings | None, since: str | None, until: str | None, model: str | None) -> Iterator[Stored]:
    assert settings is not None  # asked for before
    begin, end = span(since, until, settings.monitor.timezone, SystemClock().now_s())

    async def read() -> list[Stored]:
        async with AsyncExitStack() as stack:
            replies: AsyncIterator[Stored] = SqlReplay(await open_sql(settings, stack)).replies(begin, end, model=model)
            return [reply async for reply in replies]

    yield from asyncio.run(read())


def _tell(found: Replayed, before: Rules, after: Rules, zone: str) -> None:
    console = Console(highlight=False)
    total, same = found.total, before == after
    console.print(f"{total.replies:,} judged, {total.before:,} degenerate by the rules in force", soft_wrap=True)
    if not same:
        console.print(f"{total.after:,} by the other rules: {found.newly:,} newly, {found.no_longer:,} no longer")
    if found.outcomes:
        print_table(_scene_table(found, same))
    for outcome, reply in found.changed:
        _show(console, outcome, reply)
    try:
        then = stories(found.outcomes, before.breaker, after=False)
        now = then if same else stories(found.outcomes, after.breaker, after=True)
    except NotPlayable as error:
        console.print(str(error))
        return
    for old, new in zip(then, now, strict=True):
        _timeline(console, old, new, same, zone)


def _scene_table(found: Replayed, same: bool) -> Table:
    labelled = any(row.healthy + row.ill for row in found.scenes.values())
    columns = ["scene", "replies", "degenerate", *([] if same else ["other rules"])]
    table = Table(*columns, *(["labelled", "false alarms", "missed"] if labelled else []))
    for scene, row in by_scene(found).items():
        figures = [scene or "–", f"{row.replies:,}", f"{row.before:,}", *([] if same else [f"{row.after:,}"])]
        if labelled:
            told = [f"{row.false_before} of {row.healthy}", f"{row.missed_before} of {row.ill}"]
            if not same:
                told = [
                    f"{row.false_before} → {row.false_after} of {row.healthy}",
                    f"{row.missed_before} → {row.missed_after} of {row.ill}",
                ]
            figures += [str(row.healthy + row.ill), *told]
        table.add_row(*figures)
    return table


def _show(console: Console, outcome: Outcome, reply: Stored) -> None:
    move = "newly degenerate" if outcome.after else "no longer degenerate"
    truth = {None: "", True: ", labelled degenerate", False: ", labelled healthy"}[outcome.truth]
    console.print(Text(f"\n{reply.id} {outcome.model} {outcome.scene}: {move}{truth}", style="bold"))
    if reply.text is None:
        console.print(Text("(its text was not kept)"))
        return
    from detector import score  # only to show where the loop stands

    first, loop, last = excerpt(reply.text, score(reply.text, previous=reply.previous))
    console.print(
        Text.assemble(first, ("⟦", "bold"), (loop, "reverse red"), ("⟧", "bold"), last) if loop else Text(first + last)
    )


def _timeline(console: Console, old: Story, new: Story, same: bool, zone: str) -> None:
    console.print(Text(f"\n{old.model}: the breaker{'' if same else ' by the rules in force'}", style="bold"))
    _moves(console, old, zone)
    if not same:
        console.print(Text(f"{new.model}: by the other rules", style="bold"))
        _moves(console, new, zone)


def _moves(console: Console, story: Story, zone: str) -> None:
    if not story.played.told:
        console.print("  no change of level")
    from breaker.scenario import START_S

    for moved in story.played.told:
        at = moment(story.began_at + moved.at - START_S, zone)
        reasons = ", ".join(reason.value for reason in moved.reasons)
        console.print(f"  {at}  {moved.from_level} → {moved.to_level}: {reasons}", soft_wrap=True)


def _write(out: Path, found: Replayed) -> None:
    try:
        with out.open("w", encoding="utf-8") as lines:
            for one in found.outcomes:
                row = {
                    "id": one.id,
                    "at": one.at,
                    "model": one.model,
                    "scene": one.scene,
                    "before": one.before,
                    "after": one.after,
                }
                lines.write(json_line(row) + "\n")
    except OSError as error:
        sys.stderr.write(f"pointsman replay: {out}: {error.strerror}\n")
        raise typer.Exit(1) from error

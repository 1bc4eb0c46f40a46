"""`pointsman score`: is this text degenerate? Local, needs no service.

Reads a file or stdin; the verdict goes to stdout, progress and complaints to stderr.
Exit code 0 clean, 1 degenerate, 2 when input was bad (with --jsonl the other lines are judged all the same).
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from detector.batch import excerpt, json_line, judge, record_of, score_lines, summary, text_of
from detector.verdict import Verdict
from pointsman.cli.progress import bar
from pointsman.ray_scoring import RayMissing, score_file

BAD_INPUT = 2


class Engine(StrEnum):
    """What works through the lines of --jsonl."""

    LOCAL = "local"
    RAY = "ray"


def score_command(
    file: Annotated[str, typer.Argument(help="A text; with --jsonl one JSON object a line. - is stdin.")] = "-",
    history: Annotated[Path | None, typer.Option(help="File with the conversation's previous reply.")] = None,
    profile: Annotated[str | None, typer.Option(help="prose, chat, structured, code, verse, list.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Read and write one JSON object a line.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes for --jsonl.")] = os.cpu_count() or 1,
    engine: Annotated[Engine, typer.Option(help="Where --jsonl is judged: here, or on a Ray cluster.")] = Engine.LOCAL,
    ray_address: Annotated[str | None, typer.Option(help="The cluster's address; none: a Ray of this machine.")] = None,
) -> None:
    """Tell whether a reply loops or babbles, and show where. Exit code 1 when it does."""
    try:
        if engine is Engine.RAY and (file == "-" or not jsonl):
            raise ValueError("--engine ray wants --jsonl and a file that every machine of the cluster can read")
        if jsonl and (history or profile):
            raise ValueError('with --jsonl, history and profile stand in each line: {"text": …, "profile": "chat"}')
        code = _many(file, jobs, engine, ray_address) if jsonl else _one(file, history, profile, as_json)
    except BrokenPipeError:  # `| head` has seen enough
        sys.stderr.close()
        raise typer.Exit(0) from None
    except (OSError, ValueError, RayMissing) as error:
        told = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        typer.echo(f"pointsman score: {told}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    raise typer.Exit(code)


def _one(file: str, history: Path | None, profile: str | None, as_json: bool) -> int:
    with _opened(file) as source:
        text = text_of(source.read(), _called(file))
    previous = text_of(history.read_bytes(), str(history)) if history else None
    verdict = judge(text, previous=previous, profile=profile, timer=perf_counter)
    if as_json:
        typer.echo(json_line(record_of(verdict, compared=bool(previous))))
    else:
        _show(text, verdict, compared=bool(previous))
    return int(verdict.degenerate)


def _called(file: str) -> str:
    return "the input" if file == "-" else file


def _show(text: str, verdict: Verdict, *, compared: bool) -> None:
    console = Console(highlight=False, soft_wrap=True)
    first, *rest = summary(verdict, compared=compared)
    console.print(Text(first, style="bold red" if verdict.degenerate else "bold green"))
    for line in rest:
        console.print(Text(line))
    if verdict.degenerate:
        before, loop, after = excerpt(text, verdict)
        # Marks beside the colour: a pipe, a log and a colour-blind reader see the loop too.
        console.print(Text.assemble("\n", before, ("⟦", "bold"), (loop, "reverse red"), ("⟧", "bold"), after))


def _many(file: str, jobs: int, engine: Engine, ray_address: str | None) -> int:
    bad = degenerate = seen = False
    total = Path(file).stat().st_size if file != "-" and Path(file).is_file() else None
    with _opened(file) as source, _progress() as progress:
        task = progress.add_task("scoring", total=total)
        results = score_lines(_counted(source, progress, task), jobs)
        if engine is Engine.RAY:
            results = score_file(Path(file), ray_address)
        for result in results:
            seen = True
            if result.error:
                bad = True
                progress.console.print(Text(f"line {result.number}: {result.error}"))
            else:
                degenerate = degenerate or result.degenerate
                sys.stdout.write(result.output + "\n")
                sys.stdout.flush()
    if not seen:
        raise ValueError(f"{_called(file)} holds no line to judge")
    return BAD_INPUT if bad else int(degenerate)


def _counted(source: BinaryIO, progress: Progress, task: TaskID) -> Iterator[bytes]:
    for line in source:
        progress.advance(task, len(line))
        yield line


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return bar(*columns)


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
    else:
        with Path(file).open("rb") as source:
            yield source

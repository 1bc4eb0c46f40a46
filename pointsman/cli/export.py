"""`pointsman export KIND`: calls, failed replies, roll-ups, transitions, findings or answers to suite prompts of a span, as CSV or JSON lines.

Works on the database itself and holds a thousand rows at a time. A file appears whole or not at all.
"""

import csv
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import IO, Any
from zoneinfo import ZoneInfo

import typer
from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import SystemClock
from pointsman.cli.check import DEFAULT_FILE, settings_or_exit
from pointsman.cli.local_sql import with_sql
from pointsman.cli.moments import moment
from store.sql_export import columns, rows

ConfigOption = typer.Option(DEFAULT_FILE, "--config", "-c", help="The configuration file.")
BAD_INPUT = 2


class Kind(StrEnum):
    CALLS = "calls"
    FAILED = "failed"
    HOURS = "hours"
    DAYS = "days"
    TRANSITIONS = "transitions"
    FINDINGS = "findings"
    ANSWERS = "answers"


class Format(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"


def export(
    kind: Kind = typer.Argument(help="What to export."),
    since: str = typer.Option(
        "24h", help="From: 2026-01-31, 2026-01-31T03:00, seconds since the epoch, or 90m 24h 7d ago."
    ),
    until: str = typer.Option("0m", help="Up to, not included; the same forms."),
    format: Format = typer.Option(Format.JSONL, "--format", "-f"),
    output: Path | None = typer.Option(None, "--output", "-o", help="A file; else standard output."),
    config: Path = ConfigOption,
) -> None:
    """Write rows of a span, oldest first. Exit 1: the database does not answer. 2: not a moment, or no such folder."""
    settings = settings_or_exit(config)
    part = output.with_name(output.name + ".part") if output is not None else None
    zone, now_s = ZoneInfo(settings.monitor.timezone), SystemClock(settings.time_scale).now_s()
    try:
        first, last = moment(since, now_s, zone), moment(until, now_s, zone)
        if first >= last:
            raise ValueError(f"--since {since} is not before --until {until}")
        with part.open("w", encoding="utf-8", newline="") if part is not None else nullcontext(sys.stdout) as file:
            write = writer(format, file, columns(kind.value))

            async def run(engine: AsyncEngine) -> int:
                count = 0
                async for row in rows(engine, kind.value, first, last):
                    write(row)
                    count += 1
                return count

            count = with_sql(config, run)
        if part is not None and output is not None:
            part.replace(output)
    except (ValueError, OSError) as error:
        typer.echo(f"pointsman export: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
    typer.echo(f"{count} rows", err=True)


def writer(format: Format, file: IO[str], names: Any) -> Callable[[Mapping[str, Any]], None]:
    """What writes one row; a CSV's heading is written at once, also where no row follows."""
    if format is Format.JSONL:
        return lambda row: print(json.dumps(dict(row), ensure_ascii=False), file=file)
    out = csv.writer(file, lineterminator="\n")
    out.writerow(names)
    return lambda row: out.writerow([cell(row[name]) for name in names])


def cell(value: Any) -> Any:
    """One CSV cell: lists and mappings as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value

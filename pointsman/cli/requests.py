"""`pointsman requests`: find requests by id or by fields, and see what was tried for one of them."""

import json
import time
from typing import Any
from urllib.parse import quote, urlencode

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from console.shown import got, hidden
from pointsman.cli.asking import TokenOption, UrlOption, asked
from pointsman.cli.tables import print_table
from pointsman.cli.words import moment, words

HOUR_S = 3_600


def requests(
    id: str = typer.Argument("", help="A request's id: tells its attempts. None: a list."),
    app: str = typer.Option("", help="Only of this app."),
    route: str = typer.Option("", help="Only on this route."),
    model: str = typer.Option("", help="Only answered by this model."),
    session: str = typer.Option("", help="Only of this session's hash."),
    trouble: bool = typer.Option(False, "--trouble", help="Only those that failed over, were cut or refused."),
    hours: float = typer.Option(24.0, min=0.01, max=24 * 62, help="How far back."),
    limit: int = typer.Option(30, min=1, max=1000),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = typer.Option(False, "--json", help="As JSON, moments in seconds since the epoch."),
) -> None:
    """Find requests. Exit 1: nothing of that id, or the service did not tell."""
    if id:
        told = asked("GET", url, f"/admin/requests/{quote(id, safe='')}", token)
        typer.echo(_json(told)) if as_json else _show(told)
        return
    fields = {"app": app, "route": route, "model": model, "session": session, "since": time.time() - hours * HOUR_S}
    query = {name: value for name, value in fields.items() if value} | {"limit": limit}
    if trouble:
        query["trouble"] = "true"
    rows = asked("GET", url, f"/admin/requests?{urlencode(query)}", token)["requests"]
    typer.echo(_json(rows)) if as_json else print_table(table(rows))


def table(rows: list[dict[str, Any]]) -> Table:
    """One line per request."""
    out = Table("at", "request", "app", "route", "answered by", "user got", "attempts", "took", "status")
    for row in rows:
        cells = (
            moment(row["at"]),
            row["request_id"],
            row["app"],
            row["route"],
            row["served_model"],
            got_words(row),
            str(len(row["attempts"])),
            f"{row['elapsed_ms']} ms",
            str(row["status"]),
        )
        out.add_row(*(Text(cell) for cell in cells))
    return out


def got_words(row: dict[str, Any]) -> str:
    """What the user got, as the console calls it; a word that a newer service knows and we do not is shown as it is."""
    what = got(row["fallback"], row["status"])
    known = words()
    return known(f"fallback.{what}", status=row["status"]) if f"fallback.{what}" in known else what


def _show(told: dict[str, Any]) -> None:
    row, console = told["request"], Console()
    print_table(table([row]))
    tries = Table("attempt", "began", "took", "went", "held back")
    for one in row["attempts"]:
        went = one["loop_class"] or one["fault"] or "well"
        began = "" if one["begun_ms"] is None else f"{one['begun_ms']} ms"
        cells = (one["model"], began, f"{one['elapsed_ms']} ms", went, str(one["suppressed_chars"] or ""))
        tries.add_row(*(Text(cell) for cell in cells))
    print_table(tries)
    for failed in told["failed"]:
        console.print(Text(said(row, failed)))
        console.print(Text(failed["excerpt"]), soft_wrap=True)


def said(row: dict[str, Any], failed: dict[str, Any]) -> str:
    """What the excerpt below is, and what of it the user did not see, where that is known."""
    ill = [one["suppressed_chars"] or 0 for one in row["attempts"] if one["model"] == failed["model"] and one["fault"]]
    key, n = hidden(row["fallback"], row["status"], row.get("stream", False), ill)
    more = f"; {words()(f'request.{key}', n=n)}" if key else ""
    return f"{failed['model']} said ({failed['loop_class'] or failed['fault']}{more}):"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)

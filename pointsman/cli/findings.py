"""`pointsman findings`: what the hourly watch found: rises, scenes, JSON that needs ever more repair, silent changes."""

import json
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape
from rich.table import Table

from base.clock import SystemClock
from pointsman.cli.asking import TokenOption, UrlOption, asked
from pointsman.cli.moments import moment as meant
from pointsman.cli.tables import print_table
from pointsman.cli.words import moment


def findings(
    model: str = typer.Option("", help="Only of this model."),
    kind: str = typer.Option("", help="Only hourly, scene, parse_trend or model_changed."),
    since: str = typer.Option(
        "7d", help="From: 2026-01-31, 2026-01-31T03:00 (UTC), seconds since the epoch, or 7d ago."
    ),
    standing: bool = typer.Option(False, "--standing", help="Only what marks its model now."),
    limit: int = typer.Option(200, min=1, max=1000),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = typer.Option(False, "--json", help="As JSON, moments in seconds since the epoch, ratios 0..1."),
) -> None:
    """What the hourly watch found, with the figures each was decided on. Exit 1: the service did not tell. 2: not a moment."""
    try:
        start = meant(since, SystemClock().now_s(), ZoneInfo("UTC"))
    except ValueError as error:
        typer.echo(f"pointsman findings: --since: {error}", err=True)
        raise typer.Exit(2) from error
    only = {name: word for name, word in (("model", model), ("kind", kind)) if word}
    query = urlencode({**only, "since": start, "limit": limit})
    rows = asked("GET", url, f"/admin/findings?{query}", token)["findings"]
    rows = [row for row in rows if row["standing"] or not standing]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif rows:
        print_table(table(rows))
    else:
        typer.echo("nothing was found")


def table(rows: list[dict[str, Any]]) -> Table:
    """One line per finding."""
    out = Table("found", "model", "kind", "scene", "figures", "told", "marks until")
    for row in rows:
        until = moment(row["until"])
        out.add_row(
            moment(row["at"]),
            escape(row["model"]),
            row["kind"],
            escape(row["scene"]),
            escape(figures(row)),
            "unsure" if row["facts"].get("sure") is False else "yes",
            until if row["standing"] else f"({until})",
        )
    return out


def figures(row: dict[str, Any]) -> str:
    """The numbers in words, by kind."""
    n, facts = row["numbers"], row["facts"]
    if "growth" in n:
        chance = f", chance {n['chance']:.1e}" if n.get("chance") else ""
        return f"{n['previous']:.1%} → {n['ratio']:.1%} of {n['n']:.0f} ({n['growth']:.1f}×{chance})"
    if "repaired" in n:
        return f"repaired {n['first']:.0%} → {n['last']:.0%}"
    if "is" in facts:
        return f"{facts.get('was', '?')} → {facts['is']}"
    return ", ".join(f"{name} {value:g}" for name, value in n.items())

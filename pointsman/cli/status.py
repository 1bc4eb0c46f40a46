"""`pointsman status`: where each model stands, asked of a running monitor."""

import json
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from breaker.levels import Reason
from pointsman.cli.asking import TokenOption, UrlOption, asked
from pointsman.cli.tables import print_table


def status(
    url: str = UrlOption,
    model: str = typer.Option("", "--why", help="Tell each rule of this model instead."),
    token: str = TokenOption,
    as_json: bool = typer.Option(False, "--json", help="As JSON, ratios 0..1, moments in seconds since the epoch."),
) -> None:
    """Show level, mode, shares and the 10-minute rate. Exit 1: the service did not tell."""
    told = asked("GET", url, "/admin/models", token)
    if model:
        _tell_rules(told, model)
    elif as_json:
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        print_table(fleet_table(told["models"]))
    if told["store_down"]:
        typer.echo("the store does not answer: this is the last known state", err=True)


def _tell_rules(told: dict[str, Any], model: str) -> None:
    rows = [row for row in told["models"] if row["model"] == model]
    if not rows:
        typer.echo(f"pointsman: no model {model!r}; known: {', '.join(r['model'] for r in told['models'])}", err=True)
        raise typer.Exit(1)
    for line in rows[0]["next"]:
        typer.echo(line)


def fleet_table(rows: list[dict[str, Any]]) -> Table:
    """One line per model."""
    out = Table("model", "level", "mode", "shares", "repeats, 10 min", "why")
    for row in rows:
        shares = ", ".join(f"{s['route']} {s['effective']:.0%}" for s in row["shares"])
        rate = next((f"{r['value']:.1%} of {r['n']}" for r in row["rules"] if r["rule"] == Reason.RATIO_10M), "")
        cells = (row["model"], row["effective"], row["mode"], shares, rate, ", ".join(row["reasons"]))
        out.add_row(*(Text(cell) for cell in cells))
    return out

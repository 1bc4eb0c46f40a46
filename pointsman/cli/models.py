"""`pointsman models`: every model with its level, or one with each of its rules."""

import json
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from pointsman.cli import words
from pointsman.cli.asking import TokenOption, UrlOption, asked
from pointsman.cli.status import fleet_table
from pointsman.cli.tables import print_table

STATES = {(True, True): "reached", (True, False): "not reached", (False, False): "too few"}


def models(
    name: str = typer.Argument("", help="One model: tells its rules and moves. None: all."),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = typer.Option(False, "--json", help="As JSON, ratios 0..1, moments in seconds since the epoch."),
) -> None:
    """Show models. Exit 1: no such model, or the service did not tell."""
    told = asked("GET", url, "/admin/models", token)
    rows = [row for row in told["models"] if name in ("", row["model"])]
    if not rows:
        typer.echo(f"pointsman: no model {name!r}; known: {', '.join(r['model'] for r in told['models'])}", err=True)
        raise typer.Exit(1)
    if as_json:
        typer.echo(json.dumps(rows[0] if name else rows, ensure_ascii=False, indent=2))
        return
    print_table(fleet_table(rows, told["now"]))
    if name:
        print_table(rules(rows[0]))
        print_table(moves(rows[0]))


def rules(row: dict[str, Any]) -> Table:
    """One line per rule."""
    out = Table("rule", "leads to", "figure", "line", "sample", "state")
    for rule in row["rules"]:
        state = STATES.get((rule["known"], rule["fired"]), "reached")
        sample = f"{rule['n']}/{rule['minimum']}" if rule["minimum"] else ""
        names = (words.reason(rule["rule"]), words.level(rule["level"]))
        out.add_row(*names, f"{rule['value']:.4g}", f"{rule['line']:g}", sample, state)
    return out


def moves(row: dict[str, Any]) -> Table:
    """One line per move, newest first."""
    out = Table("at", "from", "to", "why", "by")
    for move in reversed(row["transitions"]):
        from_to = (words.level(move["from_level"]), words.level(move["to_level"]))
        why = ", ".join(map(words.reason, move["reasons"]))
        out.add_row(words.moment(move["at"]), *from_to, Text(why), Text(move["actor"]))
    return out

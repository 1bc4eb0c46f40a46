"""`pointsman models`: every model with its level, or one with each of its rules."""

import json
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from breaker.levels import Level, Reason
from breaker.triggers import Reading
from console.why import rule_line
from pointsman.cli import words
from pointsman.cli.asking import TokenOption, UrlOption, asked
from pointsman.cli.status import fleet_table
from pointsman.cli.tables import print_table


def models(
    name: str = typer.Argument("", help="One model: tells its rules and moves. None: all."),
    url: str = UrlOption,
    token: str = TokenOption,
    language: str = words.LanguageOption,
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
    tongue = words.language(language)
    print_table(fleet_table(rows, told["now"], tongue))
    if name:
        print_table(rules(rows[0], tongue))
        print_table(moves(rows[0], tongue))


def rules(row: dict[str, Any], language: str = "en") -> Table:
    """One line per rule, in the words and figures of the model's page."""
    out = Table("rule", "leads to", "figure", "line", "sample", "state")
    t = words.words(language)
    for rule in row["rules"]:
        line = rule_line(reading_of(rule), t)
        names = (words.reason(rule["rule"], language), words.level(rule["level"], language))
        out.add_row(*names, line.value, line.line, line.sample, t(f"model.rule_{line.state}"))
    return out


def reading_of(rule: dict[str, Any]) -> Reading:
    """The rule's reading as the admin JSON tells it; one that a newer service knows and we do not is read like a count."""
    known = {name: rule[name] for name in ("value", "line", "n", "minimum", "known", "fired")}
    level = next((one for one in Level if one == rule["level"]), Level.WARN)
    return Reading(reason=next((one for one in Reason if one == rule["rule"]), Reason.BURST), level=level, **known)


def moves(row: dict[str, Any], language: str = "en") -> Table:
    """One line per move, newest first."""
    out = Table("at", "from", "to", "why", "by")
    for move in reversed(row["transitions"]):
        from_to = (words.level(move["from_level"], language), words.level(move["to_level"], language))
        why = words.words(language)("join").join(words.reason(one, language) for one in move["reasons"])
        out.add_row(words.moment(move["at"]), *from_to, Text(why), Text(move["actor"]))
    return out

"""`pointsman status`: where each model stands, asked of a running monitor."""

import json
from dataclasses import fields
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from breaker.levels import Level, Mode, Reason
from console.figures import figures
from console.fleet_ports import Refusal
from console.refusals import REFUSED, words_of
from console.words import Words, duration
from pointsman.cli import words
from pointsman.cli.asking import TokenOption, UrlOption, asked
from pointsman.cli.tables import print_table

FOLLOWED = frozenset(
    {Reason.COOLED_DOWN, Reason.PROBES_PASSED, Reason.PROBES_FAILED, Reason.PROBES_TIMED_OUT, Reason.REBUILT}
)
"""Reasons of moves that only go on from an earlier one: what made the model ill stands there."""
FORCED = frozenset({Mode.FORCED_OPEN.value, Mode.FORCED_NORMAL.value})


def status(
    url: str = UrlOption,
    model: str = typer.Option("", "--why", help="Tell why this model stands where it stands, and what would move it."),
    token: str = TokenOption,
    language: str = words.LanguageOption,
    as_json: bool = typer.Option(False, "--json", help="As JSON, ratios 0..1, moments in seconds since the epoch."),
) -> None:
    """Show level, mode, shares and the 10-minute rate. Exit 1: the service did not tell."""
    told = asked("GET", url, "/admin/models", token, language=words.language(language))
    if model:
        _tell_rules(told, model, words.language(language))
    elif as_json:
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        print_table(fleet_table(told["models"], told["now"], words.language(language)))
    if told["store_down"]:
        typer.echo("the store does not answer: this is the last known state", err=True)
    if why := told.get("database_fails"):  # an older service does not say
        typer.echo(f"rows wait: {why}", err=True)


def _tell_rules(told: dict[str, Any], model: str, language: str) -> None:
    rows = [row for row in told["models"] if row["model"] == model]
    if not rows:
        typer.echo(f"pointsman: no model {model!r}; known: {', '.join(r['model'] for r in told['models'])}", err=True)
        raise typer.Exit(1)
    for line in causes(rows[0], told["now"], language):
        typer.echo(line)
    refused = refusal(rows[0], told["now"], language)
    for line in ([refused, words.words(language)("refusal.do")] if refused else []) + rows[0]["next"]:
        typer.echo(line)


def causes(row: dict[str, Any], now_s: float, language: str) -> list[str]:
    """The last move with its figures; before it the one that a rule made, where the last one only followed from that."""
    t = words.words(language)
    if row["mode"] in FORCED:
        why = t("why.forced", actor=row.get("mode_actor", ""), reason=row.get("mode_reason", ""))
        return [t("why.since_unknown", level=t(f"level.{row['effective']}"), why=why)]
    out: list[str] = []
    for move in reversed(row.get("transitions") or []):
        out.append(_cause(move, now_s, language))
        if move["to_level"] == Level.HEALTHY or not FOLLOWED.issuperset(move["reasons"]):
            break
    return out


def _cause(move: dict[str, Any], now_s: float, language: str) -> str:
    t = words.words(language)
    said = t("join").join(_figures(move, t))
    why = t("join").join(t(f"reason.{one}") if f"reason.{one}" in t else one for one in move["reasons"])
    if Reason.OPERATOR in move["reasons"] and move.get("note"):
        why = t("why.forced", actor=move.get("actor", ""), reason=move["note"])
    level, held = t(f"level.{move['to_level']}"), duration(t, now_s - move["at"])
    whole = f"{why}{t('why.figures', figures=said)}" if said else why
    return t("why.since", level=level, at=words.moment(move["at"]), held=held, why=whole)


def fleet_table(rows: list[dict[str, Any]], now_s: float, language: str = "en") -> Table:
    """One line per model."""
    out = Table("model", "level", "mode", "for", "shares", "repeats, 10 min", "why")
    for row in rows:
        shares = ", ".join(f"{s['route']} {s['effective']:.0%}" for s in row["shares"])
        since = words.span(now_s - row["since"], language) if row.get("since") else ""
        stands, mode = _stands(row, language), _mode(row, now_s, language)
        cells = (row["model"], stands, mode, since, shares, _rate(row, language), _why(row, now_s, language))
        out.add_row(*(Text(cell) for cell in cells))
    return out


def _mode(row: dict[str, Any], now_s: float, language: str) -> str:
    """With its end, if it has one."""
    until = row.get("mode_until") or 0.0
    left = words.words(language)("terminal.left", left=words.span(until - now_s, language)) if until > now_s else ""
    return words.mode(row["mode"], language) + left


def _rate(row: dict[str, Any], language: str) -> str:
    """The ratio over 10 minutes; after a move counting begins anew, and a handful of replies is no ratio."""
    t = words.words(language)
    rule = next((r for r in row["rules"] if r["rule"] == Reason.RATIO_10M), None)
    if rule is None:
        return t("terminal.not_read")
    if rule.get("known", True):
        return t("terminal.rate", ratio=f"{rule['value']:.1%}", n=rule["n"])
    anew = t("terminal.anew") if row["reasons"] else ""
    return t("terminal.few", n=rule["n"], minimum=rule["minimum"], anew=anew)


def _stands(row: dict[str, Any], language: str) -> str:
    """Its level; `refused` where its vendor turns us away, which serves nobody whatever the level."""
    stands = REFUSED if row.get("refused") and row["effective"] != Level.OPEN else row["effective"]
    return words.level(stands, language)


def refusal(row: dict[str, Any], now_s: float, language: str = "en") -> str:
    """In a sentence; empty where nobody refuses it."""
    known = {name.name for name in fields(Refusal)}
    told = [Refusal(**{name: one[name] for name in known if name in one}) for one in row.get("refusals", ())]
    return words_of(told, now_s, words.words(language), words.moment) if told else ""


def _why(row: dict[str, Any], now_s: float, language: str) -> str:
    """That it is refused to us; the reasons of its last move, with the figures it was made on."""
    return "; ".join(filter(None, (refusal(row, now_s, language), _moved(row, language))))


def _moved(row: dict[str, Any], language: str) -> str:
    if row["mode"] in FORCED:
        return words.words(language)("terminal.by", actor=row["mode_actor"], reason=row["mode_reason"])
    t = words.words(language)
    moved = (row.get("transitions") or [{}])[-1]
    said = t("join").join(_figures(moved, t))
    why = t("join").join(words.reason(one, language) for one in row["reasons"])
    return why + (f" ({said})" if row["reasons"] and said else "")


def _figures(move: dict[str, Any], t: Words) -> list[str]:
    told = figures((move.get("numbers") or {}).items(), t, percent="{:.1%}".format, moment=words.moment)
    return [f"{word} {value}" for word, value in told]

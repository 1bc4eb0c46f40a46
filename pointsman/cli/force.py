"""`pointsman force MODEL MODE`: set a mode by hand."""

import json
from typing import Any
from urllib.parse import quote

import typer

from breaker.levels import Level, Mode
from pointsman.cli import words
from pointsman.cli.asking import TokenOption, UrlOption, asked

NO_TRAFFIC = frozenset({Level.OPEN.value, Level.RECOVERING.value})
"""A model that recovers is asked by probes alone."""


def force(
    model: str = typer.Argument(help="The model, as `status` lists it."),
    mode: Mode = typer.Argument(help="auto, observe, forced_open or forced_normal."),
    reason: str = typer.Option(..., help="For the audit log; two characters or more, or one Chinese character."),
    minutes: float | None = typer.Option(None, min=1, max=7 * 24 * 60, help="How long a forced mode lasts; an hour."),
    actor: str = typer.Option("", "--as", "--actor", help="Who you are, where the token is shared."),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = typer.Option(False, "--json", help="The model's state as JSON."),
) -> None:
    """Set the mode of a model. Exit 1: refused, and nothing was changed. From forced_open, auto goes by probes; `reset` goes straight back."""
    body = {"mode": mode.value, "reason": reason, "actor": actor, "minutes": minutes}
    given = {name: value for name, value in body.items() if value not in (None, "")}
    told = asked("POST", url, f"/admin/models/{quote(model)}/force", token, given)
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        typer.echo(said(told))


def said(told: dict[str, Any]) -> str:
    """What holds now, until when, and the way straight back."""
    model, level = told["model"], words.level(told["effective"])
    takes = f"takes no traffic ({level})" if told["effective"] in NO_TRAFFIC else f"takes traffic as {level}"
    now = f"{model} is {words.mode(told['mode'])}, and {takes}"
    if told["mode"] == Mode.AUTO:
        return now
    end = f" until {words.moment(told['mode_until'])}" if told.get("mode_until") else ""
    after = "; then it is probed before it takes traffic" if told["mode"] == Mode.FORCED_OPEN else ""
    back = (
        f"straight back: pointsman reset {model} --reason …"
        if after
        else f"back: pointsman force {model} auto --reason …"
    )
    return f"{now}{end}{after}\n{back}"

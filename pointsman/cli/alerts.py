"""`pointsman alerts`: what holds, taking it, silencing it, and whether the robots answer. Asked of a running monitor."""

from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer
from rich.table import Table

from pointsman.cli import words
from pointsman.cli.asking import JsonOption, TokenOption, UrlOption, asked, passed_on, tell
from pointsman.cli.tables import print_table
from pointsman.cli.words import moment

app = typer.Typer(invoke_without_command=True, help="Alerts: list, take, silence; test the channels.")
MOMENTS_FROM_S = 1e9
"""No figure of an alert is as large: it is a moment in seconds since the epoch (2001 or later)."""
ReasonOption: str = typer.Option("taken", help="For the audit log.")
ActorOption: str = typer.Option("", "--as", "--actor", help="Who you are, where several share one token.")
AlertArgument = Annotated[str, typer.Argument(help="As in the message: A17.")]


@app.callback(invoke_without_command=True)
def alerts(
    context: typer.Context,
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
    language: str = words.LanguageOption,
) -> None:
    """List the alerts that are open. Exit 1: the service did not tell."""
    if not passed_on(context, url, token, as_json):
        list_alerts("open", "", "", 50, as_json=as_json, url=url, token=token, language=language)


@app.command("list")
def list_alerts(
    state: str = typer.Option("open", help="open, resolved or all."),
    model: str = typer.Option("", help="Of this model."),
    kind: str = typer.Option("", help="Of this kind."),
    limit: int = typer.Option(50, min=1, max=1000),
    as_json: bool = JsonOption,
    url: str = UrlOption,
    token: str = TokenOption,
    language: str = words.LanguageOption,
) -> None:
    """Newest first."""
    query = urlencode({"state": state, "model": model, "kind": kind, "limit": limit})
    rows = asked("GET", url, f"/admin/alerts?{query}", token)["alerts"]
    tell(as_json, rows, lambda: print_table(_open(rows, words.language(language))))


def _open(rows: list[dict[str, Any]], language: str) -> Table:
    t = words.words(language)
    out = Table("alert", "kind", "about", "level", "state", "since", "told", "taken by")
    for row in rows:
        about = " ".join(part for part in (row["subject"], row["scene"]) if part)
        held = f" ({words.said('muted', row['muted'], language)})" if row["muted"] else ""
        known = "nobody" if row.get("nobody_to_tell") else "yes" if row["announced"] else "not_yet"
        kind, level = words.said("kind", row["kind"], language), words.level(row["stage"], language)
        state, since = (
            words.said("incidents", f"is_{row['state']}", language).removeprefix("is_"),
            moment(row["opened_at"]),
        )
        out.add_row(row["ref"], kind, about, level, state + held, since, t(f"terminal.told_{known}"), row["acked_by"])
    return out


@app.command()
def show(
    alert: AlertArgument,
    as_json: bool = JsonOption,
    url: str = UrlOption,
    token: str = TokenOption,
) -> None:
    """One alert: its figures, what happened to it, what was sent."""
    told = asked("GET", url, f"/admin/alerts/{quote(alert)}", token)
    tell(as_json, told, lambda: _show(told))


def _show(told: dict[str, Any]) -> None:
    here = told["alert"]
    typer.echo(f"{here['ref']} {here['kind']} {here['subject']} {here['scene']}: {here['stage']}, {here['state']}")
    for name, value in here["facts"].items():
        typer.echo(f"  {name}: {_plain(value)}")
    out = Table("at", "what", "who", "words")
    for event in told["events"]:
        out.add_row(moment(event["at"]), event["event"], event["actor"], event["text"])
    print_table(out)
    print_table(_letters(told["deliveries"]))


def _plain(value: Any) -> str:
    """A fact as a person writes it: no brackets, no quotes."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list) and value and all(isinstance(one, list) and len(one) == 2 for one in value):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value)
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return moment(value) if value >= MOMENTS_FROM_S else f"{value:g}"
    return str(value)


@app.command()
def ack(
    alert: AlertArgument,
    reason: str = ReasonOption,
    actor: str = ActorOption,
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """Take an alert: it is repeated and escalated no more; its end is told all the same."""
    _act("ack", alert, reason, actor, url, token, as_json)


@app.command()
def note(
    alert: AlertArgument,
    words: Annotated[str, typer.Argument(help="What the next one should know.")],
    actor: str = ActorOption,
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """Write something down in an alert's timeline."""
    _act("note", alert, words, actor, url, token, as_json)


ENDS = {
    "unack": "Give an alert back: somebody else must take it.",
    "close": "End by hand what nobody will report the end of: the model or the job is gone.",
}


def _add_end(word: str, about: str) -> None:
    @app.command(word, help=about)
    def end(
        alert: AlertArgument,
        reason: Annotated[str, typer.Option(help="For the audit log.")],
        actor: str = ActorOption,
        url: str = UrlOption,
        token: str = TokenOption,
        as_json: bool = JsonOption,
    ) -> None:
        _act(word, alert, reason, actor, url, token, as_json)


for _word, _about in ENDS.items():
    _add_end(_word, _about)


@app.command()
def silence(
    reason: str = typer.Option(..., help="Why nobody is to be disturbed."),
    kind: str = typer.Option("", help="Kind, or a glob."),
    model: str = typer.Option("", help="Model, or a glob."),
    subject: str = typer.Option("", help="Route, job or channel, or a glob."),
    scene: str = typer.Option("", help="Scene, or a glob."),
    everything: bool = typer.Option(False, "--everything", help="All alerts there are."),
    minutes: float = typer.Option(60.0, min=1, help="For how long."),
    actor: str = ActorOption,
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """Mute what matches for a while. The end of what was announced is told all the same."""
    body = {"reason": reason, "kind": kind, "model": model, "subject": subject, "scene": scene, "minutes": minutes}
    told = asked("POST", url, "/admin/silences", token, {**body, "everything": everything, "actor": actor})
    made = told["silence"]
    for name in told.get("unknown", ()):
        typer.echo(f"pointsman: there is no {name} {body[name]!r} now: look whether it is what you mean", err=True)
    ends = f"`pointsman alerts unsilence {made['id']}` ends it"
    tell(as_json, made, lambda: typer.echo(f"silence {made['id']} until {moment(made['ends_at'])}; {ends}"))


@app.command()
def unsilence(
    id: int = typer.Argument(help="As `silences` shows it."),
    reason: str = typer.Option("over", help="For the audit log."),
    actor: str = ActorOption,
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """End a silence now."""
    told = asked("POST", url, f"/admin/silences/{id}/end", token, {"reason": reason, "actor": actor})
    tell(as_json, told, lambda: typer.echo(f"silence {id} is over"))


@app.command()
def silences(
    past: bool = typer.Option(False, help="Those that are over too."),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """What is silenced, by whom, until when."""
    rows = asked("GET", url, f"/admin/silences?past={str(past).lower()}", token)["silences"]
    out = Table("id", "state", "what", "by", "why", "until")
    for row in rows:
        names = ("kind", "model", "subject", "scene")
        what = ", ".join(f"{name}={row[name]}" for name in names if row[name]) or "everything"
        out.add_row(str(row["id"]), row["state"], what, row["author"], row["reason"], moment(row["ends_at"]))
    tell(as_json, rows, lambda: print_table(out))


@app.command()
def channels(url: str = UrlOption, token: str = TokenOption, as_json: bool = JsonOption) -> None:
    """Every robot: does it work, who stands in for it, what waits."""
    rows = asked("GET", url, "/admin/alert-channels", token)["channels"]
    out = Table("channel", "kind", "state", "backup", "sent in the last minute", "waiting", "it said")
    for row in rows:
        counts = (str(row["posts_last_minute"]), str(row["waiting"]))
        out.add_row(row["name"], row["kind"], row["state"], row["backup"], *counts, row["detail"])
    tell(as_json, rows, lambda: print_table(out))


@app.command()
def deliveries(
    state: str = typer.Option("", help="pending, sending, sent, moved, failed, expired or no_channel."),
    channel: str = typer.Option("", help="Of this channel."),
    limit: int = typer.Option(50, min=1, max=1000),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """What was sent where, newest first."""
    query = urlencode({"state": state, "channel": channel, "limit": limit})
    rows = asked("GET", url, f"/admin/deliveries?{query}", token)["deliveries"]
    tell(as_json, rows, lambda: print_table(_letters(rows)))


@app.command()
def test(
    channel: str = typer.Argument("", help="None: every channel."),
    actor: str = ActorOption,
    url: str = UrlOption,
    token: str = TokenOption,
) -> None:
    """Send a real message and tell what the robot said. Exit 1: one of them did not take it."""
    known = [row["name"] for row in asked("GET", url, "/admin/alert-channels", token)["channels"]]
    if not known:
        typer.echo("pointsman: no channel is configured under alerts.channels", err=True)
        raise typer.Exit(1)
    refused = 0
    for name in [channel] if channel else known:
        path = f"/admin/alert-channels/{quote(name, safe='')}/test"
        said = asked("POST", url, path, token, {"reason": "test", "actor": actor})
        words = f": {said['detail']}" if said["detail"] else ""
        typer.echo(f"{name}: {said['result']}{words} ({said['took_s']:.2f} s)")
        refused += said["result"] != "ok"
    if refused:
        raise typer.Exit(1)


def _act(word: str, alert: str, reason: str, actor: str, url: str, token: str, as_json: bool) -> None:
    body = {"reason": reason, "actor": actor}
    here = asked("POST", url, f"/admin/alerts/{quote(alert, safe='')}/{word}", token, body)["alert"]
    tell(as_json, here, lambda: typer.echo(_line(here)))


def _line(here: dict[str, Any]) -> str:
    by = f", taken by {here['acked_by']}" if here["acked_by"] else ""
    return f"{here['ref']} {here['kind']} {here['subject']}: {here['state']}{by}"


def _letters(rows: list[dict[str, Any]]) -> Table:
    out = Table("filed", "channel", "why", "severity", "state", "tries", "detail")
    for row in rows:
        filed = moment(row["created_at"])
        out.add_row(filed, row["channel"], row["why"], row["severity"], row["state"], str(row["tries"]), row["detail"])
    return out

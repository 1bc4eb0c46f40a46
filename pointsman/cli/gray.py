"""`pointsman gray`: releases of new versions: start, step, pause, resume, stop, promote, and how each went."""

import json
from typing import Any

import typer
from rich.table import Table

from pointsman.cli.asking import TokenOption, UrlOption, asked
from pointsman.cli.tables import print_table

app = typer.Typer(invoke_without_command=True, help="Gray releases: list them, start and move one, read its report.")
ModelArgument = typer.Argument(help="The model whose sessions are shared.")
ReasonOption = typer.Option(..., "--reason", "-r", help="Why; stands in the audit log and the report.")


@app.callback(invoke_without_command=True)
def gray(
    context: typer.Context,
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = typer.Option(False, "--json", help="As JSON."),
) -> None:
    """List the release of each model that has or had one. Exit 1: the service did not tell."""
    if context.invoked_subcommand is not None:
        return
    releases = asked("GET", url, "/admin/gray", token)["releases"]
    if as_json:
        typer.echo(json.dumps(releases, ensure_ascii=False, indent=2))
    else:
        print_table(table(releases))


@app.command()
def start(
    model: str = ModelArgument,
    candidate: str = typer.Argument(help="The model of the configuration that may replace it."),
    version: str = typer.Option("", help="What is released; the candidate's upstream model name unless said."),
    by_hand: bool = typer.Option(False, "--by-hand", help="Wait for a person after each step."),
    reason: str = ReasonOption,
    url: str = UrlOption,
    token: str = TokenOption,
) -> None:
    """Give the candidate the first step's part of the sessions."""
    body: dict[str, Any] = {"candidate": candidate, "by_itself": not by_hand}
    _act("start", model, reason, url, token, body | ({"version": version} if version else {}))


@app.command()
def step(
    model: str = ModelArgument, reason: str = ReasonOption, url: str = UrlOption, token: str = TokenOption
) -> None:
    """Go one step on, whatever was seen so far."""
    _act("step", model, reason, url, token)


@app.command()
def pause(
    model: str = ModelArgument, reason: str = ReasonOption, url: str = UrlOption, token: str = TokenOption
) -> None:
    """Keep the split and conclude nothing until resumed; what is clearly worse is still stopped."""
    _act("pause", model, reason, url, token)


@app.command()
def resume(
    model: str = ModelArgument, reason: str = ReasonOption, url: str = UrlOption, token: str = TokenOption
) -> None:
    """Go on after a pause."""
    _act("resume", model, reason, url, token)


@app.command()
def stop(
    model: str = ModelArgument, reason: str = ReasonOption, url: str = UrlOption, token: str = TokenOption
) -> None:
    """Give everybody back to the stable version; that is no verdict on the new one."""
    _act("stop", model, reason, url, token)


@app.command()
def promote(
    model: str = ModelArgument, reason: str = ReasonOption, url: str = UrlOption, token: str = TokenOption
) -> None:
    """Give everybody to the candidate, whatever was seen so far."""
    _act("promote", model, reason, url, token)


@app.command()
def report(
    id: str = typer.Argument(help="The release's id, as listed; or a model: its newest."),
    language: str = typer.Option("zh", help="zh or en."),
    as_json: bool = typer.Option(False, "--json", help="As JSON."),
    url: str = UrlOption,
    token: str = TokenOption,
) -> None:
    """How a release went: both arms, the evidence, every move. Markdown."""
    told = asked("GET", url, f"/admin/gray/reports/{id}?language={language}", token)
    typer.echo(json.dumps(told, ensure_ascii=False, indent=2) if as_json else told["markdown"])


@app.command()
def history(
    model: str = typer.Option("", help="Of one model only."), url: str = UrlOption, token: str = TokenOption
) -> None:
    """Releases of the past, newest first."""
    path = "/admin/gray/history" + (f"?model={model}" if model else "")
    print_table(table(asked("GET", url, path, token)["releases"]))


def table(releases: list[dict[str, Any]]) -> Table:
    """One line per release."""
    out = Table("model", "candidate", "version", "stands", "share", "gray repeats", "stable repeats", "evidence", "id")
    for row in releases:
        arms = [f"{a['repeats']}/{a['judged']} {a['repeat_ratio']:.1%}" for a in (row["gray"], row["stable"])]
        evidence = f"{max(row['numbers']['e_repeats'], row['numbers']['e_hard']):.3g}"
        stands = f"{row['stage']}: {row['reason']}"
        cells = (row["model"], row["candidate"], row["version"], stands, f"{row['share']:.0%}", *arms, evidence)
        out.add_row(*cells, row["id"])
    return out


def _act(word: str, model: str, reason: str, url: str, token: str, more: dict[str, Any] | None = None) -> None:
    told = asked("POST", url, f"/admin/gray/{model}/{word}", token, {"reason": reason, "actor": "cli", **(more or {})})
    typer.echo(
        f"{told['model']} → {told['candidate']}: {told['stage']}, {told['share']:.0%} of the sessions, {told['id']}"
    )

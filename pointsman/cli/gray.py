"""`pointsman gray`: releases of new versions: start, step, pause, resume, stop, promote, and how each went."""

from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.table import Table

from pointsman.cli import words
from pointsman.cli.asking import JsonOption, TokenOption, UrlOption, asked, lists, tell
from pointsman.cli.tables import print_table

app = typer.Typer(invoke_without_command=True, help="Gray releases: list them, start and move one, read its report.")
ModelArgument = Annotated[str, typer.Argument(help="The model whose sessions are shared.")]
ReasonOption = Annotated[str, typer.Option("--reason", "-r", help="Why; stands in the audit log and the report.")]


@app.command()
def start(
    model: ModelArgument,
    candidate: Annotated[str, typer.Argument(help="The model of the configuration that may replace it.")],
    reason: ReasonOption,
    version: str = typer.Option("", help="What is released; the candidate's upstream model name unless said."),
    by_hand: bool = typer.Option(False, "--by-hand", help="Wait for a person after each step."),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """Give the candidate the first step's part of the sessions."""
    body: dict[str, Any] = {"candidate": candidate, "by_itself": not by_hand}
    _act("start", model, reason, url, token, as_json, body | ({"version": version} if version else {}))


MOVES = {
    "step": "Go one step on, whatever was seen so far.",
    "pause": "Keep the split and conclude nothing until resumed; what is clearly worse is still stopped.",
    "resume": "Go on after a pause.",
    "stop": "Give everybody back to the stable version; that is no verdict on the new one.",
    "promote": "Give everybody to the candidate, whatever was seen so far.",
}


def _add_move(word: str, about: str) -> None:
    @app.command(word, help=about)
    def move(
        model: ModelArgument,
        reason: ReasonOption,
        url: str = UrlOption,
        token: str = TokenOption,
        as_json: bool = JsonOption,
    ) -> None:
        _act(word, model, reason, url, token, as_json)


for _word, _about in MOVES.items():
    _add_move(_word, _about)


@app.command()
def report(
    id: str = typer.Argument(help="The release's id, as listed; or a model: its newest."),
    language: str = words.LanguageOption,
    as_json: bool = JsonOption,
    url: str = UrlOption,
    token: str = TokenOption,
) -> None:
    """How a release went: both arms, the evidence, every move. Markdown."""
    told = asked("GET", url, f"/admin/gray/reports/{id}?language={words.language(language)}", token)
    tell(as_json, told, lambda: typer.echo(told["markdown"]))


@app.command()
def history(
    model: str = typer.Option("", help="Of one model only."),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """Releases of the past, newest first."""
    path = "/admin/gray/history" + (f"?model={model}" if model else "")
    releases = asked("GET", url, path, token)["releases"]
    tell(as_json, releases, lambda: print_table(table(releases)))


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


lists(
    app,
    "List the release of each model that has or had one.",
    "/admin/gray",
    "releases",
    lambda told: print_table(table(told["releases"])),
)


def _act(
    word: str, model: str, reason: str, url: str, token: str, as_json: bool, more: dict[str, Any] | None = None
) -> None:
    body = {"reason": reason, "actor": "cli", **(more or {})}
    told = asked("POST", url, f"/admin/gray/{quote(model)}/{word}", token, body)
    share = f"{told['share']:.0%} of the sessions"
    said = f"{told['model']} → {told['candidate']}: {told['stage']}, {share}, {told['id']}"
    tell(as_json, told, lambda: typer.echo(said))

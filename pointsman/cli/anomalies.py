"""`pointsman anomalies`: models that people complain of more than chance explains; look at one, take one off by hand."""

import json
from typing import Any
from urllib.parse import quote, urlencode

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pointsman.cli.asking import TokenOption, UrlOption, asked, passed_on
from pointsman.cli.tables import print_table
from pointsman.cli.words import moment

app = typer.Typer(
    invoke_without_command=True, help="The anomaly list: models people complain of; take one off by hand."
)


@app.callback(invoke_without_command=True)
def anomalies(
    context: typer.Context,
    samples: bool = typer.Option(False, "--samples", help="With what people said."),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = typer.Option(False, "--json", help="As JSON, moments in seconds since the epoch."),
) -> None:
    """Who is on the list now, and why. Exit 1: the service did not tell."""
    if passed_on(context, url, token, as_json):
        return
    _show(asked("GET", url, "/admin/anomalies", token)["anomalies"], as_json, samples)


@app.command()
def history(
    model: str = typer.Option("", help="Only this one."),
    limit: int = typer.Option(100, min=1, max=500),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = typer.Option(False, "--json", help="As JSON."),
) -> None:
    """Everybody who ever was on it, newest first, with why and when they left."""
    query = urlencode({"limit": limit} | ({"model": model} if model else {}))
    told = asked("GET", url, f"/admin/anomalies/history?{query}", token)
    _show(told["anomalies"], as_json, samples=False)


@app.command()
def dismiss(
    model: str = typer.Argument(help="The model, as listed."),
    reason: str = typer.Option(..., "--reason", "-r", help="Why; stands in the audit log."),
    url: str = UrlOption,
    token: str = TokenOption,
) -> None:
    """Take a model off the list; new complaints may list it again tomorrow. Exit 1: it is not on it."""
    asked("POST", url, f"/admin/anomalies/{quote(model, safe='/')}/dismiss", token, {"reason": reason, "actor": "cli"})
    typer.echo(f"{model} is off the list")


def _show(rows: list[dict[str, Any]], as_json: bool, samples: bool) -> None:
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    if not rows:
        typer.echo("nobody is on the list")
        return
    print_table(table(rows))
    for row in rows if samples else ():
        for said in row["samples"]:
            parts = (str(said.get(name) or "") for name in ("request_id", "kind", "source", "app", "scene", "note"))
            Console(soft_wrap=True).print(f"  {escape(row['model'])}: {escape(' · '.join(filter(None, parts)))}")


def table(rows: list[dict[str, Any]]) -> Table:
    """One line per stay on the list."""
    out = Table("model", "listed for", "last bad day", "people", "line", "expected", "chance", "clean days", "left")
    for row in rows:
        left = f"{moment(row['left_at'])} {row['left_why']} {row['left_by']}".strip() if row["left_at"] else ""
        out.add_row(
            *(escape(row[name]) for name in ("model", "day", "last_bad_day")),
            f"{row['users']} ({row['complaints']} complaints)",
            str(row["threshold"]),
            f"{row['expected']:.2f}",
            f"{row['chance']:.1e}",
            str(row["clean_days"]),
            escape(left),
        )
    return out

"""`pointsman status`: where each model stands, asked of a running monitor."""

import os
from typing import Any

import httpx
import typer
from rich.console import Console
from rich.table import Table

from pointsman.admin_token import VARIABLE


def status(
    url: str = typer.Option("http://127.0.0.1:8081", help="The operators' address."),
    token: str = typer.Option("", help=f"Admin token; else the environment's {VARIABLE}."),
) -> None:
    """Show level, mode, shares and what comes next. Exit 1: the service did not tell."""
    headers = {"authorization": f"Bearer {token or os.environ.get(VARIABLE, '')}"}
    try:
        answer = httpx.get(f"{url.rstrip('/')}/admin/models", headers=headers, timeout=10)
        told = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        typer.echo(f"pointsman: {url} does not answer as the service would: {error}", err=True)
        raise typer.Exit(1) from error
    if answer.status_code != 200:
        typer.echo(f"pointsman: {told.get('error', {}).get('message', answer.status_code)}", err=True)
        raise typer.Exit(1)
    Console().print(_table(told))
    if told["store_down"]:
        typer.echo("the store does not answer: this is the last known state")


def _table(told: dict[str, Any]) -> Table:
    out = Table("model", "level", "mode", "shares", "why", "next")
    for row in told["models"]:
        shares = ", ".join(f"{s['route']} {s['effective']:.0%}" for s in row["shares"])
        out.add_row(
            row["model"], row["effective"], row["mode"], shares, ", ".join(row["reasons"]), "\n".join(row["next"])
        )
    return out

"""`pointsman status`: where each model stands, asked of a running monitor."""

import os
from typing import Any

import httpx
import typer
from rich.console import Console
from rich.table import Table

from breaker.levels import Reason
from pointsman.admin_token import VARIABLE


def status(
    url: str = typer.Option("http://127.0.0.1:8081", help="The operators' address."),
    model: str = typer.Option("", "--why", help="Tell each rule of this model instead."),
    token: str = typer.Option("", help=f"Admin token; else the environment's {VARIABLE}."),
) -> None:
    """Show level, mode, shares and the 10-minute rate. Exit 1: the service did not tell."""
    if not (token := token or os.environ.get(VARIABLE, "")):
        typer.echo(f"pointsman: an admin token is needed: --token or {VARIABLE}", err=True)
        raise typer.Exit(2)
    headers = {"authorization": f"Bearer {token}"}
    try:
        answer = httpx.get(f"{url.rstrip('/')}/admin/models", headers=headers, timeout=10)
        told = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        typer.echo(f"pointsman: {url} does not answer as the service would: {error}", err=True)
        raise typer.Exit(1) from error
    if answer.status_code != 200:
        typer.echo(f"pointsman: {told.get('error', {}).get('message', answer.status_code)}", err=True)
        raise typer.Exit(1)
    if model:
        _tell_rules(told, model)
    else:
        Console().print(_table(told))
    if told["store_down"]:
        typer.echo("the store does not answer: this is the last known state")


def _tell_rules(told: dict[str, Any], model: str) -> None:
    rows = [row for row in told["models"] if row["model"] == model]
    if not rows:
        typer.echo(f"pointsman: no model {model!r}; known: {', '.join(r['model'] for r in told['models'])}", err=True)
        raise typer.Exit(1)
    for line in rows[0]["next"]:
        typer.echo(line)


def _table(told: dict[str, Any]) -> Table:
    out = Table("model", "level", "mode", "shares", "repeats, 10 min", "why")
    for row in told["models"]:
        shares = ", ".join(f"{s['route']} {s['effective']:.0%}" for s in row["shares"])
        rate = next((f"{r['value']:.1%} of {r['n']}" for r in row["rules"] if r["rule"] == Reason.RATIO_10M), "")
        out.add_row(row["model"], row["effective"], row["mode"], shares, rate, ", ".join(row["reasons"]))
    return out

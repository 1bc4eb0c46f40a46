"""`pointsman keys`: who may call. Works on the database itself; running routers notice within a second."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

import typer
from rich.console import Console
from rich.table import Table

from base.clock import SystemClock
from breaker.ports import StoreUnavailable
from pointsman.assemble import StartError, open_sql
from pointsman.cli.check import DEFAULT_FILE, settings_or_exit
from store.sql_keys import SqlKeys

T = TypeVar("T")
app = typer.Typer(no_args_is_help=True, help="App keys: create, list, revoke.")
ConfigOption = typer.Option(DEFAULT_FILE, "--config", "-c", help="The configuration file.")


@app.command()
def create(
    name: str = typer.Argument(help="The app's name."),
    route: list[str] = typer.Option([], help="A route it may use; repeat for more. None given: all."),
    per_minute: int | None = typer.Option(None, min=1, help="Requests a minute."),
    config: Path = ConfigOption,
) -> None:
    """Make a key. It is shown now and never again; only its hash is kept."""
    known = settings_or_exit(config).routes
    if missing := [r for r in route if r not in known]:
        typer.echo(f"no route named {', '.join(missing)}; known: {', '.join(known)}", err=True)
        raise typer.Exit(2)

    async def make(keys: SqlKeys) -> str:
        now_s = SystemClock().now_s()
        _, key = await keys.create(name, by="cli", now_s=now_s, routes=route or None, per_minute=per_minute)
        return key

    typer.echo(_with_keys(config, make))


@app.command("list")
def list_keys(revoked: bool = typer.Option(False, help="Revoked ones too."), config: Path = ConfigOption) -> None:
    """Show the keys by their last characters."""
    rows = _with_keys(config, lambda keys: keys.keys(revoked=revoked))
    table = Table("id", "app", "key ends in", "routes", "per minute", "revoked")
    for row in rows:
        routes = "all" if row.routes is None else ", ".join(row.routes)
        table.add_row(row.id, row.app, row.hint, routes, str(row.per_minute or ""), "yes" if row.revoked_at else "")
    Console().print(table)


@app.command()
def revoke(id: str = typer.Argument(help="As `list` shows it."), config: Path = ConfigOption) -> None:
    """Refuse a key from now on."""
    now_s = SystemClock().now_s()
    if not _with_keys(config, lambda keys: keys.revoke(id, now_s)):
        typer.echo(f"no key {id} that is not revoked already", err=True)
        raise typer.Exit(1)
    typer.echo(f"{id} is revoked")


def _with_keys(config: Path, act: Callable[[SqlKeys], Awaitable[T]]) -> T:
    settings = settings_or_exit(config)

    async def run() -> T:
        async with AsyncExitStack() as stack:
            return await act(SqlKeys(await open_sql(settings, stack)))

    try:
        return asyncio.run(run())
    except (StartError, StoreUnavailable) as error:
        typer.echo(f"pointsman: {error}", err=True)
        raise typer.Exit(1) from error

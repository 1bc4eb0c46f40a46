"""`pointsman keys`: who may call. Works on the database itself; running routers notice within a second."""

from pathlib import Path

import typer
from rich.table import Table
from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import SystemClock
from pointsman.cli.check import DEFAULT_FILE, config_or_demo, settings_or_exit
from pointsman.cli.local_sql import with_sql
from pointsman.cli.names import name_or_exit
from pointsman.cli.tables import print_table
from store.sql_keys import AppKey, SqlKeys

app = typer.Typer(no_args_is_help=True, help="App keys: create, list, revoke.")
ConfigOption = typer.Option(DEFAULT_FILE, "--config", "-c", help="The configuration file.")


@app.command()
def create(
    name: str = typer.Argument(help="The app's name."),
    route: list[str] = typer.Option([], help="A route it may use; repeat for more. None given: all."),
    per_minute: int | None = typer.Option(None, min=1, help="Requests a minute, in the whole fleet."),
    tokens_per_minute: int | None = typer.Option(None, min=1, help="Tokens a minute, prompt and reply, in the fleet."),
    concurrent: int | None = typer.Option(None, min=1, help="Requests at once in one worker."),
    support: bool = typer.Option(False, "--support", help="May file feedback on other apps' requests."),
    config: Path = ConfigOption,
) -> None:
    """Make a key. It is shown now and never again; only its hash is kept."""
    config = config_or_demo(config)
    settings = settings_or_exit(config)
    known = settings.routes
    if missing := [r for r in route if r not in known]:
        typer.echo(f"no route named {', '.join(missing)}; known: {', '.join(known)}", err=True)
        raise typer.Exit(2)
    name = name_or_exit("NAME", name)
    now_s = SystemClock().now_s()

    async def make(engine: AsyncEngine) -> tuple[list[AppKey], bool, str]:
        keys = SqlKeys(engine)
        # Once there was one, keys are asked for, for good: also when all are revoked.
        before = await keys.keys(revoked=True)
        others = [key for key in before if key.app == name and key.revoked_at is None]
        _, made = await keys.create(
            name,
            by="cli",
            now_s=now_s,
            routes=route or None,
            per_minute=per_minute,
            tokens_per_minute=tokens_per_minute,
            max_concurrent=concurrent,
            support=support,
        )
        return others, not before and not settings.require_keys, made

    others, first, made = with_sql(config, make)
    typer.echo(made)
    if first:
        typer.echo("this is the first key: every caller without a key is refused (401) from now on", err=True)
    if others:
        which = ", ".join(f"{key.id} (ends in {key.hint})" for key in others)
        typer.echo(
            f"{name} has another key that goes on working: {which}; end one by pointsman keys revoke ID", err=True
        )


@app.command("list")
def list_keys(revoked: bool = typer.Option(False, help="Revoked ones too."), config: Path = ConfigOption) -> None:
    """Show the keys by their last characters."""
    rows = with_sql(config, lambda engine: SqlKeys(engine).keys(revoked=revoked))
    table = Table("id", "app", "key ends in", "routes", "limits", "revoked")
    for row in rows:
        routes = "all" if row.routes is None else ", ".join(row.routes)
        table.add_row(row.id, row.app, row.hint, routes, limits_of(row), "yes" if row.revoked_at else "")
    print_table(table)


@app.command()
def revoke(id: str = typer.Argument(help="As `list` shows it."), config: Path = ConfigOption) -> None:
    """Refuse a key from now on."""
    now_s = SystemClock().now_s()
    if not with_sql(config, lambda engine: SqlKeys(engine).revoke(id, now_s)):
        typer.echo(f"no key {id} that is not revoked already", err=True)
        raise typer.Exit(1)
    typer.echo(f"{id} is revoked")


def limits_of(key: AppKey) -> str:
    """The limits of a key in words, and whether it is a support desk's."""
    named = (
        (key.per_minute, "requests/min"),
        (key.tokens_per_minute, "tokens/min"),
        (key.max_concurrent, "at once"),
    )
    said = [f"{value} {what}" for value, what in named if value is not None]
    return ", ".join([*said, "support"] if key.support else said) or "none"

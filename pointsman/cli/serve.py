"""`pointsman serve` and `pointsman migrate`: the service itself, and its database alone."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import typer

from pointsman.assemble import StartError, assembled, open_sql
from pointsman.cli.check import DEFAULT_FILE, settings_or_exit
from pointsman.logs import set_up
from pointsman.monitoring import Role, doors_of
from pointsman.settings import Settings

ConfigOption = typer.Option(DEFAULT_FILE, "--config", "-c", help="The configuration file.")


def serve(
    config: Path = ConfigOption,
    role: Role = typer.Option(Role.ALL, help="router: clients' port; monitor: operators' port, probes and alerts."),
) -> None:
    """Run the service until SIGTERM or Ctrl-C; then streams may finish."""
    settings = settings_or_exit(config)
    set_up(os.environ.get("POINTSMAN_LOG", "INFO"))
    run_to_end(serving(settings, role))


def migrate(config: Path = ConfigOption) -> None:
    """Bring the database to the newest version; safe while others start."""
    settings = settings_or_exit(config)

    async def once() -> None:
        async with AsyncExitStack() as stack:
            await open_sql(settings, stack)
        typer.echo("the database is at the newest version")

    run_to_end(once())


async def serving(settings: Settings, role: Role) -> None:
    """Open, listen, serve, drain, close. Prints the addresses. Raises StartError."""
    async with assembled(settings) as service:
        doors = await doors_of(service, role)
        for url in doors.urls:
            typer.echo(f"pointsman: listening on {url}")
        if doors.new_token is not None:
            typer.echo(f"pointsman: first admin token, shown once: {doors.new_token}")
        await doors.serve()


def run_to_end(what: Coroutine[Any, Any, None]) -> None:
    """Run `what` on the fastest loop there is; a StartError is told in one line and exits with 1."""
    try:
        with asyncio.Runner(loop_factory=_loop()) as runner:
            runner.run(what)
    except StartError as error:
        typer.echo(f"pointsman: {error}", err=True)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on Windows
        return None
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made

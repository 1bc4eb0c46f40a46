"""`pointsman serve` and `pointsman migrate`: the service itself, and its database alone."""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import typer
from pydantic import SecretStr

from pointsman.assemble import StartError, assembled, open_sql
from pointsman.cli.check import DEFAULT_FILE, startable_or_exit
from pointsman.collector import collect_seldom
from pointsman.doubts import doubts_in
from pointsman.logs import level_of, set_up
from pointsman.monitoring import Doors, Role, doors_of
from pointsman.settings import Settings
from pointsman.worker_metrics import share_metrics
from pointsman.workers import Worker, supervise, worker_of

log = logging.getLogger("pointsman")
INTERRUPTED = 130
"""128 + SIGINT, as shells have it: ended by Ctrl-C before there was anything to drain."""
ConfigOption = typer.Option(DEFAULT_FILE, "--config", "-c", help="The configuration file.")


def serve(
    config: Path = ConfigOption,
    role: Role = typer.Option(Role.ALL, help="router: clients' port; monitor: operators' port, probes and alerts."),
    workers: int | None = typer.Option(None, min=1, max=64, help="Router processes; else the file's `workers`."),
) -> None:
    """Run the service until SIGTERM or Ctrl-C; then streams may finish. SIGHUP: read the configuration again."""
    settings = startable_or_exit(config)
    try:
        set_up(level_of(os.environ.get("POINTSMAN_LOG")))
    except ValueError as error:
        typer.echo(f"pointsman serve: {error}", err=True)
        raise typer.Exit(2) from error
    worker = worker_of(os.environ)
    for doubt in doubts_in(config, settings) if worker is None else ():  # told once, not by each worker
        log.warning("%s: %s", config, doubt)
    if worker is not None:
        run_to_end(working(config, settings, worker))
    elif (count := workers or settings.workers) > 1 and role is not Role.MONITOR:
        # The workers' own loops are fast; the one that watches over them needs signals and pipes, not speed.
        run_to_end(supervise(config, settings, role, count), fast=False)
    else:
        run_to_end(serving(config, settings, role))


def migrate(config: Path = ConfigOption) -> None:
    """Bring the database to the newest version; safe while others start."""
    settings = startable_or_exit(config)

    async def once() -> None:
        async with AsyncExitStack() as stack:
            await open_sql(settings, stack)
        typer.echo("the database is at the newest version")

    run_to_end(once())


async def serving(config: Path, settings: Settings, role: Role) -> None:
    """Open, listen, serve, drain, close. Prints the addresses. Raises StartError."""
    async with assembled(settings) as service:
        doors = await doors_of(service, role, file=config)
        typer.echo(_welcome(doors))
        collect_seldom()
        await doors.serve()


def _welcome(doors: Doors) -> str:
    lines = [door.told for door in doors.doors]
    if doors.new_token is not None:
        lines.append(f"pointsman: first admin token, shown once: {doors.new_token}")
    return "\n".join(lines)


async def working(config: Path, settings: Settings, worker: Worker) -> None:
    """One worker of several: what is common was opened by who started it. Raises StartError."""
    settings = settings.model_copy(update={"redis_url": SecretStr(worker.redis_url)})
    async with assembled(settings) as service:
        doors = await doors_of(service, worker.role, taken=worker.taken_sockets(), file=config)
        if worker.role is Role.ROUTER:
            share_metrics(service, worker)
        worker.tell_ready("" if worker.role is Role.ROUTER else _welcome(doors))
        collect_seldom()
        await doors.serve()


def run_to_end(what: Coroutine[Any, Any, None], *, fast: bool = True) -> None:
    """Run `what`, on the fastest loop there is if `fast`; a StartError is told in one line and exits with 1."""
    try:
        with asyncio.Runner(loop_factory=_loop() if fast else None) as runner:
            runner.run(what)
    except StartError as error:
        typer.echo(f"pointsman: {error}", err=True)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on Windows
        return None
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made

"""What a command does on the database itself, without a running service."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

import typer
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.ports import StoreUnavailable
from pointsman.assemble import StartError, open_sql
from pointsman.cli.check import settings_or_exit

T = TypeVar("T")


def with_sql(config: Path, act: Callable[[AsyncEngine], Awaitable[T]]) -> T:
    """What `act` returns; a database that cannot be used is told in one line and exits with 1."""
    settings = settings_or_exit(config)

    async def run() -> T:
        async with AsyncExitStack() as stack:
            return await act(await open_sql(settings, stack))

    try:
        return asyncio.run(run())
    except (StartError, StoreUnavailable) as error:
        typer.echo(f"pointsman: {error}", err=True)
        raise typer.Exit(1) from error

"""The one way to SQL: which driver, how long we wait, and what its errors mean.

Every foreign exception becomes breaker.ports.StoreUnavailable here and nowhere else.
"""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Table, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError, StatementError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.sql.dml import Insert

from base.cancels import cancel_kept
from breaker.ports import StoreUnavailable
from store.sql_why import why

TIMEOUT_S = 5.0
"""No request waits on SQL; a background writer may wait this long for a lock or an answer before it tries again."""
FOREIGN = (SQLAlchemyError, OSError, asyncio.TimeoutError, OverflowError)
"""Drivers' own errors arrive as SQLAlchemyError; connecting fails with OSError or a timeout before it can wrap them,
and SQLite's driver says OverflowError, unwrapped, for an integer of more than 64 bits."""
DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
}


def open_engine(url: str, *, timeout_s: float = TIMEOUT_S) -> AsyncEngine:
    """An engine for `sqlite:///FILE` or `postgresql://…`. Raises ValueError for another database. Connects later.

    `timeout_s`: how long one statement may wait for a lock or an answer.
    """
    scheme, mark, rest = url.partition("://")
    parsed = make_url(DRIVERS.get(scheme, scheme) + mark + rest)
    if parsed.drivername == "sqlite+aiosqlite":
        engine = create_async_engine(parsed, connect_args={"timeout": timeout_s})
        event.listen(engine.sync_engine, "connect", partial(_sqlite_settings, timeout_s))
        return engine
    if parsed.drivername == "postgresql+asyncpg":
        waits = {"timeout": timeout_s, "command_timeout": timeout_s}
        return create_async_engine(parsed, connect_args=waits, pool_size=5, pool_timeout=timeout_s, pool_pre_ping=True)
    raise ValueError(f"SQLite and PostgreSQL are supported, not {parsed.drivername!r}")


def _sqlite_settings(timeout_s: float, connection: Any, _record: object) -> None:
    """WAL lets readers go on while one writer writes; NORMAL may lose the last moment in a power cut, never the file.

    The switch to WAL does not wait for a lock as other statements do, and it stays in the file: who finds it locked
    goes on, since either somebody else is switching it now or the next connection will.
    """
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={int(timeout_s * 1000)}", "synchronous=NORMAL"):
        cursor.execute(f"PRAGMA {pragma}")
    with suppress(sqlite3.OperationalError):
        cursor.execute("PRAGMA journal_mode=WAL")
    cursor.close()


def place_of(url: str | URL) -> str:
    """A database's address as people may read it: no password, no options."""
    parsed = make_url(url)
    if parsed.drivername.startswith("sqlite"):
        file = parsed.database or ":memory:"
        return file if file == ":memory:" else str(Path(file).absolute())
    return f"{parsed.database} at {parsed.host or 'localhost'}:{parsed.port or 5432}"


class RowRefused(StoreUnavailable):
    """The database is there and will not take these values, however often they are sent."""


@contextmanager
def answered(engine: AsyncEngine) -> Iterator[None]:
    """Map what SQL or its driver raises inside the block to StoreUnavailable or, of those, RowRefused.

    What people read of it: which database, and why (store/sql_why.py). A cancellation that the pool's waiting loses is raised all the same.
    """
    try:
        with cancel_kept():
            yield
    except FOREIGN as error:
        if _is_about_values(error):
            # The driver's words would quote the values.
            raise RowRefused(f"database {place_of(engine.url)}: {type(error).__name__}") from error
        raise StoreUnavailable(f"database {place_of(engine.url)}: {why(error)}") from error


def _is_about_values(error: Exception) -> bool:
    if isinstance(error, DBAPIError):
        # SQLSTATE classes 22 and 23: data exception, integrity constraint violation.
        state = str(getattr(error.orig, "sqlstate", None) or "")
        return isinstance(error, DataError | IntegrityError) or state[:2] in ("22", "23")
    return isinstance(error, StatementError | OverflowError)


def insert_new(engine: AsyncEngine, table: Table) -> Insert:
    """An INSERT that skips rows whose key is already there: a batch may be written twice."""
    if engine.dialect.name == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()

"""Brings the database to the newest version: one process at a time, all or nothing.

Replicas that start together wait for each other: on PostgreSQL by an advisory lock inside the transaction, on SQLite
by BEGIN IMMEDIATE. Whoever comes second finds the work done.
"""

from importlib.resources import files

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from store.sql_link import answered, open_engine

LOCK_KEY = 7_019_267_480_337
"""Any number that nobody else in this database uses."""
LOCK_WAIT_S = 60
"""A replica waits this long for another one's migration, then fails its start with an error."""


async def upgrade(url: str) -> str:
    """Run what is missing and return the version reached. Raises StoreUnavailable."""
    engine = open_engine(url)
    try:
        with answered():
            await _upgrade(engine)
            return await current(engine) or ""
    finally:
        await engine.dispose()


async def current(engine: AsyncEngine) -> str | None:
    """The version the database is at; None: nothing was ever run."""
    async with engine.connect() as connection:
        return await connection.run_sync(lambda sync: MigrationContext.configure(sync).get_current_revision())


def newest() -> str:
    """The version this release wants."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


async def _upgrade(engine: AsyncEngine) -> None:
    if engine.dialect.name == "postgresql":
        async with engine.begin() as connection:
            await connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_WAIT_S}s'")
            await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK_KEY})")
            await connection.run_sync(_run)
        return
    async with engine.connect() as connection:
        # The driver's own BEGIN is deferred and would let two migrations start; ours takes the write lock at once.
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        await connection.exec_driver_sql(f"PRAGMA busy_timeout={LOCK_WAIT_S * 1000}")
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            await connection.run_sync(_run)
        except BaseException:
            await connection.exec_driver_sql("ROLLBACK")
            raise
        await connection.exec_driver_sql("COMMIT")


def _run(connection: Connection) -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config

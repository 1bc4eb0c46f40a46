"""Brings the database to the newest version: one process at a time, all or nothing.

Replicas that start together wait for each other: on PostgreSQL by an advisory lock inside the transaction, on SQLite
by BEGIN IMMEDIATE. Whoever comes second finds the work done. A database that is at the newest version, as at almost every
start, is told by one query: Alembic and the versions are imported only to be run.
"""

from importlib.resources import files

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from store.sql_link import answered, open_engine

LOCK_KEY = 7_019_267_480_337
"""Any number that nobody else in this database uses."""
LOCK_WAIT_S = 60
"""A replica waits this long for another one's migration, then fails its start with an error."""


async def upgrade(url: str) -> str:
    """Run what is missing and return the version reached.

    Raises StoreUnavailable; ValueError for a database that a newer release has been at.
    """
    engine = open_engine(url)
    try:
        with answered(engine):
            there, known = await current(engine), versions()
            if there is not None and there not in known:
                raise ValueError(f"it is at version {there}, this release knows {known[-1]} at most; start a newer one")
            if there != known[-1]:
                await _upgrade_waiting(url)
            return await current(engine) or ""
    finally:
        await engine.dispose()


async def current(engine: AsyncEngine) -> str | None:
    """The version the database is at; None: nothing was ever run."""
    async with engine.connect() as connection:
        return await connection.run_sync(_current)


def newest() -> str:
    """The version this release wants."""
    return versions()[-1]


def versions() -> list[str]:
    """The versions this release knows, oldest first: each file's name begins with its version."""
    names = (file.name for file in (files("migrations") / "versions").iterdir())
    return sorted(name.partition("_")[0] for name in names if name[0].isdigit() and name.endswith(".py"))


async def _upgrade_waiting(url: str) -> None:
    # Imported before the lock is taken, for which others may be waiting; and they wait longer than for any other answer.
    import alembic.command  # noqa: F401

    engine = open_engine(url, timeout_s=LOCK_WAIT_S)
    try:
        await _upgrade(engine)
    finally:
        await engine.dispose()


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


def _current(connection: Connection) -> str | None:
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    version: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return version


def _run(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")

"""Migrations over SQLite and PostgreSQL."""

import asyncio

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from store.migrate import current, newest, upgrade
from store.sql_link import open_engine
from store.tables import metadata


async def test_replicas_that_start_together_migrate_once(empty_url: str) -> None:
    assert set(await asyncio.gather(*(upgrade(empty_url) for _ in range(4)))) == {newest()}


async def test_the_migrated_tables_are_those_of_the_code(engine: AsyncEngine) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_an_empty_database_has_no_version(empty_url: str) -> None:
    engine = open_engine(empty_url)
    assert await current(engine) is None
    await engine.dispose()

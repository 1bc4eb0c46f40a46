"""What a question to a real server does to the task that asks."""

import asyncio
from collections.abc import AsyncIterator
from random import Random

import pytest

from base.clock import SystemClock
from breaker.outcome import Outcome
from breaker.ports import StoreUnavailable
from store.redis_link import RedisLink, connect
from store.redis_nudge import Nudges
from tests.support.live_guard import Live
from tests.support.tcp_proxy import Manner, Proxy, proxy_to
from tests.support.valkey import Valkey

TURNS = range(30)
"""How many turns of the loop pass before the cancel: every place inside a question is hit, those of the loss too."""


@pytest.fixture
async def live(valkey: Valkey) -> AsyncIterator[RedisLink]:
    link = RedisLink(connect(valkey.url), SystemClock())
    yield link
    await link.close()


async def cancelled_after(turns: int, task: "asyncio.Task[None]") -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=60)
    assert done, f"one cancel after {turns} turns was lost"


async def test_a_task_that_asks_for_ever_ends_at_one_cancel_wherever_it_comes(live: RedisLink) -> None:
    async def asks_for_ever() -> None:
        while True:
            await live.ask(lambda client: client.ping())

    for turns in TURNS:
        await cancelled_after(turns, asyncio.create_task(asks_for_ever()))


async def test_a_subscription_ends_at_one_cancel_wherever_it_comes(live: RedisLink) -> None:
    for turns in TURNS:
        await cancelled_after(turns, asyncio.create_task(Nudges(live.client, SystemClock(), lambda: None).run()))


@pytest.mark.parametrize("broken", [1, 3])
async def test_a_question_outlives_connections_that_break(valkey: Valkey, broken: int) -> None:
    met = 0

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal met
        met += 1
        if met <= broken:
            writer.transport.abort()
        else:
            proxy.accept(reader, writer)

    proxy = Proxy(valkey.port)
    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    link = RedisLink(connect(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"), SystemClock())
    try:
        assert await link.ask(lambda client: client.ping())
        assert met == broken + 1
    finally:
        await link.close()
        server.close()
        await proxy.close()


async def test_a_sentinel_that_is_away_is_not_forgotten_when_many_ask_at_once(sentinel_url: str) -> None:
    """It was: the one that answered took its place as well as the first, and an address was lost for good."""
    client = connect(sentinel_url.replace("//", "//127.0.0.1:1,"))
    link = RedisLink(client, SystemClock())
    try:
        sentinels = client.connection_pool.sentinel_manager.sentinels
        before = set(sentinels)
        await asyncio.gather(*(link.ask(lambda asked: asked.ping()) for _ in range(8)))
        assert set(sentinels) == before
    finally:
        await link.close()


async def test_a_black_hole_costs_a_question_its_time_and_no_more(valkey: Valkey) -> None:
    """Its own time, far less than a read and its retries would take; and the connection is not used again."""
    async with proxy_to(valkey.port) as proxy:
        proxy.manner = Manner.SWALLOW
        client = connect(f"redis://127.0.0.1:{proxy.port}/0")
        link = RedisLink(client, SystemClock(), whole_s=0.05)
        with pytest.raises(StoreUnavailable):
            await link.ask(lambda client: client.ping())
        assert not [one for one in client.connection_pool._in_use_connections if one.is_connected]
        await link.close()


GUARDS = 40


async def test_a_guard_ends_at_one_cancel_whatever_it_is_doing(valkey: Valkey) -> None:
    """Its five loops ask all the while; a cancel that one of them loses would leave the whole guard running for ever."""
    rng = Random(1)
    for number in range(GUARDS):
        here = Live(valkey.url, f"boot{number}", ("m", "k"))
        running = asyncio.create_task(here.guard.run())
        for _ in range(rng.randrange(60)):
            here.guard.note(model="m", scene="chat", endpoint=0, outcome=Outcome.GOOD)
            await asyncio.sleep(rng.choice((0.0, 0.0, 0.002)))
        running.cancel()
        done, _ = await asyncio.wait({running}, timeout=60)
        assert done, f"guard {number} went on after its cancel"
        await here.guard.close()
        await here.link.close()

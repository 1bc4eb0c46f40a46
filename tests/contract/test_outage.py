"""Redis dies, hangs and comes back, under the stores."""

import asyncio
import socket
import time

import pytest

from base.clock import SystemClock
from breaker.ports import StoreUnavailable
from breaker.snapshot import Snapshot
from breaker.window import Counts, MinuteRow
from store.redis_link import REST_S, TIMEOUT_S, RedisLink, connect
from store.redis_states import RedisProbes, RedisStates
from store.redis_windows import RedisCounts
from store.server_time import ServerTime
from tests.support.valkey import start_valkey


async def test_after_a_restart_everything_works_and_counts_appear_once() -> None:
    clock = SystemClock()
    with start_valkey() as server:
        link = RedisLink(connect(server.url), clock)
        now = ServerTime(link, clock)
        states, counts, probes = RedisStates(link), RedisCounts(link, now), RedisProbes(link, now)
        await now.refresh()
        minute = int(now.now_s() // 60)
        row = MinuteRow(model="a", scope="", minute=minute, counts=Counts(judged=7))
        await counts.flush("boot1", [row], [])
        assert await states.compare_and_set(Snapshot(model="a", epoch=1), 0)
        server.stop()
        for _ in range(4):
            with pytest.raises(StoreUnavailable):
                await counts.flush("boot1", [row], [])
        server.restart()
        await clock.sleep(REST_S)
        # It forgot documents, counts and scripts.
        assert await states.load(["a"]) == {}
        assert await states.compare_and_set(Snapshot(model="a", epoch=5), 0)
        assert await probes.lease("a", 5, 2, 30, 60.0) == 2
        await counts.flush("boot1", [row], [])
        await counts.flush("boot1", [row], [])
        assert list(await counts.minutes("a", minute, minute)) == [row]
        await link.close()


async def test_a_server_that_never_answers_costs_seconds_not_a_minute() -> None:
    with socket.socket() as black_hole:
        black_hole.bind(("127.0.0.1", 0))
        black_hole.listen()
        link = RedisLink(connect(f"redis://127.0.0.1:{black_hole.getsockname()[1]}/0"), SystemClock())
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            await RedisStates(link).load(["a"])
        assert time.monotonic() - began < 3 * TIMEOUT_S
        await link.close()


async def test_a_cancelled_question_leaves_the_link_usable() -> None:
    with start_valkey() as server:
        link = RedisLink(connect(server.url), SystemClock())
        states = RedisStates(link)
        for n in range(20):
            task = asyncio.create_task(states.load([f"m{n}"]))
            for _ in range(n % 5):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await states.compare_and_set(Snapshot(model="a", epoch=1), 0)
        assert await states.load(["b", "a"]) == {"a": Snapshot(model="a", epoch=1)}
        await link.close()


async def test_keys_do_not_stay_for_ever() -> None:
    clock = SystemClock()
    with start_valkey() as server:
        client = connect(server.url)
        link = RedisLink(client, clock)
        counts = RedisCounts(link, clock)
        minute = int(clock.now_s() // 60)
        await counts.flush("b", [MinuteRow(model="a", scope="", minute=minute, counts=Counts(judged=1))], [])
        assert 7_700 < await client.ttl(f"rep:{{a}}:{minute}") <= 7_860
        await link.close()

"""A request awaits neither Redis nor SQL: real stores refuse whoever asks from inside a request, or from its child tasks."""

from collections.abc import AsyncIterator
from contextvars import ContextVar
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.guard import Guard
from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.snapshot import Snapshot
from store.migrate import upgrade
from store.redis_link import RedisLink, connect
from store.redis_states import RedisLease, RedisProbes, RedisStates
from store.redis_windows import RedisCounts
from store.sql_calls import SqlCallLog
from store.sql_link import open_engine
from store.sql_transitions import SqlTransitions
from tests.support.call_log import Written
from tests.support.clock import ManualClock
from tests.support.router_world import Says, World, looped
from tests.support.valkey import Valkey

# Tasks and greenlets started inside a request inherit it; the background loops were started outside.
in_request: ContextVar[bool] = ContextVar("in_request", default=False)


class Asked(AssertionError):
    """A store was asked from inside a request."""


def refuse_in_request(*_: object) -> None:
    if in_request.get():
        raise Asked


class Watched:
    """A Redis client that refuses to be touched from inside a request."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        refuse_in_request()
        return getattr(self._client, name)


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    url = f"sqlite:///{tmp_path / 'calls.db'}"
    await upgrade(url)
    engine = open_engine(url)
    event.listen(engine.sync_engine, "before_cursor_execute", refuse_in_request)
    yield engine
    await engine.dispose()


@pytest.fixture
async def watched(valkey: Valkey, clock: ManualClock) -> AsyncIterator[RedisLink]:
    client = connect(valkey.url)
    await client.flushall()
    link = RedisLink(Watched(client), clock)
    yield link
    await link.close()


@pytest.fixture
def guard(watched: RedisLink, sqlite: AsyncEngine, clock: ManualClock) -> Guard:
    return Guard(
        ("a", "b", "c"),
        BreakerPolicy(),
        RedisCounts(watched, clock),
        RedisStates(watched),
        RedisProbes(watched, clock),
        RedisLease(watched, clock),
        SqlTransitions(sqlite),
        clock,
        Random(1),
        "boot1",
        clock.now_s,
    )


def world_over(guard: Guard, calls: SqlCallLog, **scripts: list[Says]) -> World:
    world = World(scripts)
    world.deps.guard, world.deps.calls = guard, calls
    return world


async def asked_in_request(world: World, **fields: Any) -> int:
    mark = in_request.set(True)
    try:
        return (await world.ask(**fields)).status_code
    finally:
        in_request.reset(mark)


@pytest.mark.parametrize("stream", [False, True])
async def test_good_and_bad_replies_are_answered_without_a_store_and_written_down_afterwards(
    guard: Guard, sqlite: AsyncEngine, watched: RedisLink, clock: ManualClock, stream: bool
) -> None:
    calls = SqlCallLog(sqlite)
    world = world_over(guard, calls, a=[Says(), looped("I see. ", ["I see. "]), Says()])
    assert [await asked_in_request(world, stream=stream) for _ in range(3)] == [200] * 3
    await guard.flush()
    await calls.flush()
    minute = int(clock.now_s() // 60)
    (row,) = (row for row in await RedisCounts(watched, clock).minutes("a", minute, minute) if row.scope == "")
    # Four attempts: the loop's second try on the spare endpoint counts as well.
    assert (row.counts.judged, row.counts.phrase_loop) == (4, 1)
    assert len(await Written(sqlite).calls()) == 3


async def test_a_permit_is_taken_from_memory(guard: Guard, sqlite: AsyncEngine, watched: RedisLink) -> None:
    now_s = guard._server_now()
    recovering = Snapshot(
        model="a", epoch=1, level=Level.RECOVERING, since=now_s - 300, until=now_s + 300, cause=(Reason.ROLLING_15M,)
    )
    assert await RedisStates(watched).compare_and_set(recovering, 0)
    await guard.poll()
    await guard.lease_permits()
    # Only the recovering model can serve, and only by permit.
    world = world_over(guard, SqlCallLog(sqlite))
    assert [await asked_in_request(world) for _ in range(20)] == [200] * 20
    await guard.settle_permits()


async def test_the_watch_would_see_it(guard: Guard, sqlite: AsyncEngine) -> None:
    await guard.poll()
    await Written(sqlite).calls()
    mark = in_request.set(True)
    try:
        with pytest.raises(Asked):
            await guard.poll()
        with pytest.raises(Asked):
            await Written(sqlite).calls()
    finally:
        in_request.reset(mark)

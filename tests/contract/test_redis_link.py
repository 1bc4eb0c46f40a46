"""What a question to a real server does to the task that asks."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from base.clock import SystemClock
from store.redis_link import RedisLink, connect
from store.redis_nudge import Nudges
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

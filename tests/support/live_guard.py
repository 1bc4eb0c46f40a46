"""A guard on the real clock over a real Redis, with its background loops running, and replies that keep coming."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from random import Random

from base.cancels import end
from base.clock import SystemClock
from breaker.guard import Guard
from breaker.outcome import Outcome
from breaker.policy import BreakerPolicy
from breaker.ports import StoreUnavailable
from store.memory import MemoryTransitions
from store.redis_link import RedisLink, connect
from store.redis_states import RedisEvidence, RedisLease, RedisProbes, RedisStates
from store.redis_windows import RedisCounts
from store.server_time import ServerTime

DEADLINE_S = 45.0


class Live:
    """`noted` replies were handed over; `longest_s` is the longest one hand-over took."""

    def __init__(self, url: str, boot_id: str, models: tuple[str, ...] = ("m",)) -> None:
        self._local = SystemClock()
        self.link = RedisLink(connect(url), self._local)
        self.clock = ServerTime(self.link, self._local)
        self.counts = RedisCounts(self.link, self.clock)
        self.log = MemoryTransitions()
        self.guard = Guard(
            models,
            BreakerPolicy(),
            self.counts,
            RedisStates(self.link),
            RedisProbes(self.link, self.clock),
            RedisLease(self.link, self.clock),
            self.log,
            self.clock,
            Random(1),
            boot_id,
            self.clock.now_s,
            evidence=RedisEvidence(self.link, self.clock),
        )
        self.noted, self.longest_s = 0, 0.0
        self.began_s = self.clock.now_s()

    async def talk(self, stop: asyncio.Event, every_s: float = 0.005) -> None:
        """A reply every few milliseconds until told to stop."""
        while not stop.is_set():
            began_s = self._local.monotonic_s()
            self.guard.levels()
            self.guard.note(model="m", scene="chat", endpoint=0, outcome=Outcome.GOOD)
            self.longest_s = max(self.longest_s, self._local.monotonic_s() - began_s)
            self.noted += 1
            await asyncio.sleep(every_s)

    async def kept(self) -> int:
        """Replies of the whole model that the store knows of, over all writers; -1 while it does not answer."""
        first, last = int(self.began_s // 60) - 1, int(self.clock.now_s() // 60) + 1
        try:
            rows = await self.counts.minutes("m", first, last)
        except StoreUnavailable:
            return -1
        return sum(row.counts.judged for row in rows if row.scope == "")


@contextlib.asynccontextmanager
async def live(url: str, boot_id: str = "a", models: tuple[str, ...] = ("m",)) -> AsyncIterator[Live]:
    """Runs for the time of the block."""
    here = Live(url, boot_id, models)
    with contextlib.suppress(StoreUnavailable):
        await here.clock.refresh()
    task = asyncio.create_task(here.guard.run())
    try:
        yield here
    finally:
        await end([task])
        await here.guard.close()
        await here.link.close()


async def until(true: Callable[[], object]) -> None:
    """Wait until `true()` holds (it may be a coroutine). Raises TimeoutError after 45 s."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            answer = true()
            if await answer if asyncio.iscoroutine(answer) else answer:
                return
            await asyncio.sleep(0.05)

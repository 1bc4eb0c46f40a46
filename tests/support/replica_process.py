"""One replica as a process of its own: reads one JSON order a line, does it, answers one JSON line.

Arguments: Redis url, SQL url, boot id. Time is what each order says, so that four processes stand in the same minute.
"""

import asyncio
import json
import sys
from random import Random
from typing import Any

from breaker.guard import Guard
from breaker.outcome import Outcome
from breaker.policy import BreakerPolicy
from store.memory import MemoryLease
from store.redis_link import RedisLink, connect
from store.redis_states import RedisProbes, RedisStates
from store.redis_windows import RedisCounts
from store.sql_link import open_engine
from store.sql_transitions import SqlTransitions
from tests.support.clock import ManualClock

START_S = 1_700_000_040.0  # the start of a minute
YIELD_EVERY = 40  # adds between two turns of the loop, so that flushes fall between them


class Replica:
    def __init__(self, redis_url: str, sql_url: str, boot_id: str) -> None:
        self.clock = ManualClock(START_S)
        self.link = RedisLink(connect(redis_url), self.clock)
        self.counts, self.probes = RedisCounts(self.link, self.clock), RedisProbes(self.link, self.clock)
        self.engine = open_engine(sql_url)
        self.guard = Guard(
            ("m",),
            BreakerPolicy(cooldown_jitter=0.0),
            self.counts,
            RedisStates(self.link),
            self.probes,
            # Of its own: every process believes that it alone evaluates, as after a partition.
            MemoryLease(self.clock),
            SqlTransitions(self.engine, ["ops"]),
            self.clock,
            Random(1),
            boot_id,
            self.clock.now_s,
        )

    def note(self, bad: bool = False) -> None:
        outcome = Outcome.DEGENERATE if bad else Outcome.GOOD
        self.guard.note(model="m", scene="chat", endpoint=0, outcome=outcome)

    async def add(self, tasks: int, adds: int) -> int:
        """`tasks` tasks at once, each `adds` replies, while flushes go on beside them."""

        async def one() -> None:
            for index in range(adds):
                self.note()
                if index % YIELD_EVERY == 0:
                    await asyncio.sleep(0)

        adding = asyncio.gather(*(one() for _ in range(tasks)))
        # Not a task to be cancelled: a shared connection would be left in the middle of an answer.
        while not adding.done():
            await self.guard.flush()
            await asyncio.sleep(0)
        await adding
        await self.guard.flush()
        return tasks * adds

    async def bad(self, count: int) -> int:
        for _ in range(count):
            self.note(bad=True)
        await self.guard.flush()
        return count

    async def sum(self, minutes: int) -> int:
        """Judged replies of the last `minutes` minutes, this one included."""
        last = int(self.clock.now_s() // 60)
        rows = await self.counts.minutes("m", last - minutes + 1, last)
        return sum(row.counts.judged for row in rows if row.scope == "")

    async def lease(self, asks: int, budget: int) -> int:
        return sum(await asyncio.gather(*(self.probes.lease("m", 1, 1, budget, 60.0) for _ in range(asks))))

    async def trip(self) -> list[Any]:
        """Evaluate and adopt; level and epoch as this process sees them afterwards."""
        await self.guard.poll()
        await self.guard.evaluate()
        await self.guard.poll()
        here = self.guard.snapshot("m")
        return [here.level.value, here.epoch]

    async def obey(self, order: dict[str, Any]) -> Any:
        self.clock.tick(START_S + order.pop("at", 0.0) - self.clock.now_s())
        return await getattr(self, order.pop("do"))(**order)


async def main() -> None:
    replica = Replica(*sys.argv[1:4])
    print(json.dumps("ready"), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await replica.obey(json.loads(line))), flush=True)
    await replica.link.close()
    await replica.engine.dispose()


if __name__ == "__main__":
    asyncio.run(main())

"""One replica as a process of its own: reads one JSON order a line, obeys it, answers one JSON line.

Argument: boot id. The first order is `begin`; another `begin` starts anew, with other stores if it names them.
"""

import asyncio
import json
import sys
from typing import Any

from store.memory import MemoryLease
from store.redis_link import RedisLink, connect
from store.redis_states import RedisEvidence, RedisLease, RedisProbes, RedisStates
from store.redis_windows import RedisCounts
from store.sql_link import open_engine
from store.sql_transitions import SqlTransitions
from tests.support.replica import Replica


class Process:
    """`alone`: the replica believes that it alone evaluates, as after a partition."""

    def __init__(self, boot_id: str) -> None:
        self.boot_id = boot_id
        self.begun = 0
        self.replica: Replica | None = None
        self.link: RedisLink | None = None
        self.engine: Any = None

    async def obey(self, order: dict[str, Any]) -> Any:
        if order["do"] == "begin":
            order.pop("do")
            return await self.begin(**order)
        assert self.replica is not None
        return await self.replica.obey(order)

    async def begin(
        self,
        at: float,
        models: list[str],
        policy: dict[str, Any],
        keep_last: list[list[str]],
        redis_url: str,
        sql_url: str,
        alone: bool = False,
    ) -> None:
        await self.close()
        self.begun += 1
        replica = self.replica = Replica(f"{self.boot_id}.{self.begun}", at)
        link = self.link = RedisLink(connect(redis_url), replica.local)
        self.engine = open_engine(sql_url)
        clock = replica.clock
        replica.build(
            tuple(models),
            policy,
            tuple(tuple(route) for route in keep_last),
            RedisCounts(link, clock),
            RedisStates(link),
            RedisProbes(link, clock),
            MemoryLease(clock) if alone else RedisLease(link, clock),
            SqlTransitions(self.engine),
            RedisEvidence(link, clock),
        )
        await clock.refresh()  # type: ignore[attr-defined]
        await replica.poll()

    async def close(self) -> None:
        if self.link is not None:
            await self.link.close()
        if self.engine is not None:
            await self.engine.dispose()


async def main() -> None:
    process = Process(sys.argv[1])
    print(json.dumps("ready"), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await process.obey(json.loads(line))), flush=True)
    await process.close()


if __name__ == "__main__":
    asyncio.run(main())

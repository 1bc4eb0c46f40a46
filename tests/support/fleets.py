"""Fleets of replicas for the lock-step player: in this process over memory, or four processes on a real Valkey."""

import asyncio
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from breaker import scenario as story
from breaker.snapshot import Transition
from store.memory import MemoryCounts, MemoryEvidence, MemoryLease, MemoryProbes, MemoryStates, MemoryTransitions
from store.sql_link import open_engine
from store.sql_transitions import SqlTransitions
from tests.support.clock import ManualClock
from tests.support.lockstep import Order
from tests.support.replica import Replica
from tests.support.valkey import Valkey

ROOT = Path(__file__).parents[2]
ANSWER_S = 60.0
"""A replica that has not answered by then hangs; no order takes a second."""
START_S = 240.0
"""Four Python processes start at once, beside other tests."""


class InProcess:
    """Replicas over one set of memory stores."""

    def __init__(self, size: int = 3) -> None:
        self.size = size
        self.log = MemoryTransitions()
        self._clock = ManualClock(story.START_S)
        clock = self._clock
        self._stores = (MemoryCounts(clock), MemoryStates(), MemoryProbes(clock), MemoryLease(clock))
        self._evidence = MemoryEvidence(clock)
        self._replicas: dict[int, Replica] = {}
        self._starts = 0

    async def each(self, orders: Mapping[int, Order]) -> dict[int, Any]:
        answers = {}
        # By turns, so that each replica has the lease now and then.
        first = self._starts % self.size
        self._starts += 1
        for index in sorted(orders, key=lambda one: (one - first) % self.size):
            answers[index] = await self._one(index, orders[index])
        return answers

    async def _one(self, index: int, order: Order) -> Any:
        self._clock.tick(max(0.0, order["at"] - self._clock.now_s()))
        if order["do"] == "begin":
            return await self.restart(index, order)
        return await self._replicas[index].obey(order)

    async def restart(self, index: int, order: Order) -> None:
        replica = self._replicas[index] = Replica(f"boot{index}-{self._starts}", order["at"])
        counts, states, probes, lease = self._stores
        replica.build(
            tuple(order["models"]), order["policy"], order["keep_last"],
            counts, states, probes, lease, self.log, self._evidence,
        )  # fmt: skip

    async def store(self, what: str) -> None:
        raise AssertionError(f"{what} needs a real store")

    async def told(self) -> Sequence[Transition]:
        return self.log.rows


class Processes:
    """Four processes on one Valkey and one SQL database. Each order goes to all named before an answer is read."""

    def __init__(self, valkey: Valkey, sql_url: str, size: int = 4) -> None:
        self.size, self.valkey, self.sql_url = size, valkey, sql_url
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._starts = 0

    async def start(self) -> None:
        for index in range(self.size):
            await self._spawn(index)
        await asyncio.gather(*(self._answer(index, START_S) for index in self._running))

    async def _spawn(self, index: int) -> None:
        self._starts += 1
        self._running[index] = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.support.replica_process",
            f"boot{index}-{self._starts}",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            limit=2**20,
        )

    async def each(self, orders: Mapping[int, Order]) -> dict[int, Any]:
        for index, order in orders.items():
            self._send(index, order)
        answers = await asyncio.gather(*(self._answer(index) for index in orders))
        return dict(zip(orders, answers, strict=True))

    def _send(self, index: int, order: Order) -> None:
        stores = {"redis_url": self.valkey.url, "sql_url": self.sql_url} if order["do"] == "begin" else {}
        pipe = self._running[index].stdin
        assert pipe is not None
        pipe.write(json.dumps({**order, **stores}).encode() + b"\n")

    async def _answer(self, index: int, within_s: float = ANSWER_S) -> Any:
        pipe = self._running[index].stdout
        assert pipe is not None
        line = await asyncio.wait_for(pipe.readline(), within_s)
        assert line, f"replica {index} died"
        return json.loads(line)

    async def restart(self, index: int, order: Order) -> None:
        self._running[index].kill()
        await self._running[index].wait()
        await self._spawn(index)
        await self._answer(index, START_S)
        await self.each({index: order})

    async def store(self, what: str) -> None:
        if what == "stop_store":
            await asyncio.to_thread(self.valkey.stop)
        else:
            await asyncio.to_thread(self.valkey.restart)

    async def told(self) -> Sequence[Transition]:
        engine = open_engine(self.sql_url)
        try:
            return list(reversed(await SqlTransitions(engine).transitions(limit=1_000)))
        finally:
            await engine.dispose()

    async def close(self) -> None:
        for process in self._running.values():
            assert process.stdin is not None
            process.stdin.close()
        for process in self._running.values():
            try:
                await asyncio.wait_for(process.wait(), 20)
            except TimeoutError:
                process.kill()
                await process.wait()


def fresh_sql(template: Path, folder: Path) -> str:
    """A migrated SQLite file of its own, copied from `template`."""
    file = folder / "fleet.db"
    shutil.copy(template, file)
    return f"sqlite:///{file}"

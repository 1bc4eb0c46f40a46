"""Replicas over one memory store, whose cable can be pulled."""

import asyncio
from collections.abc import Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from base.faults import Fault
from breaker.guard import Guard
from breaker.levels import Level
from breaker.outcome import Outcome
from breaker.policy import BreakerPolicy
from breaker.ports import StoreUnavailable
from store.memory import MemoryCounts, MemoryEvidence, MemoryLease, MemoryProbes, MemoryStates, MemoryTransitions
from tests.support.clock import ManualClock

T0 = 1_700_000_040.0


class Switch:
    """A store behind a cable that can be pulled."""

    def __init__(self, kept: Any, cable: "Fleet") -> None:
        self._kept, self._cable = kept, cable

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if self._cable.down:
                raise StoreUnavailable(name)
            return await getattr(self._kept, name)(*args, **kwargs)

        return call


class Fleet:
    """Replicas over one store and one clock."""

    def __init__(self, models: Sequence[str] = ("m",), policy: BreakerPolicy | None = None) -> None:
        self.clock = ManualClock(T0)
        self.down = False
        self.models, self.policy = models, policy or BreakerPolicy()
        self.states, self.told = MemoryStates(), MemoryTransitions()
        self.counts, self.probes = MemoryCounts(self.clock), MemoryProbes(self.clock)
        self.lease = MemoryLease(self.clock)
        self.evidence = MemoryEvidence(self.clock)

    def replica(self, boot_id: str = "a", **more: Any) -> Guard:
        return Guard(
            self.models,
            self.policy,
            Switch(self.counts, self),
            Switch(self.states, self),
            Switch(self.probes, self),
            Switch(self.lease, self),
            self.told,
            self.clock,
            Random(1),
            boot_id,
            self.clock.now_s,
            **{"evidence": Switch(self.evidence, self), **more},
        )

    @asynccontextmanager
    async def running(self, *guards: Guard) -> Any:
        tasks = [asyncio.create_task(guard.run()) for guard in guards]
        await self.clock.advance(1)
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def moves(self, model: str = "m") -> list[tuple[Level, Level]]:
        return [(t.from_level, t.to_level) for t in self.told.rows if t.model == model]


def talk(guard: Guard, good: int, bad: int, model: str = "m") -> None:
    for outcome, times in ((Outcome.GOOD, good), (Outcome.DEGENERATE, bad)):
        for _ in range(times):
            guard.note(model=model, scene="chat", endpoint=0, outcome=outcome)


def fail(guard: Guard, times: int) -> None:
    for _ in range(times):
        guard.note(model="m", scene="chat", endpoint=0, outcome=Outcome.FAILED, fault=Fault.SERVER_ERROR)

"""A clock that moves only when told to."""

import asyncio
import heapq
import itertools


class ManualClock:
    """Starts at `now_s`; `advance` wakes, in order, whoever slept until then."""

    def __init__(self, now_s: float = 1_700_000_000.0) -> None:
        self._start_s = now_s
        self._elapsed_s = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now_s(self) -> float:
        return self._start_s + self._elapsed_s

    def monotonic_s(self) -> float:
        return self._elapsed_s

    def real_s(self, seconds: float) -> float:
        return seconds

    @property
    def sleeping(self) -> int:
        """How many wait for this clock now."""
        return sum(1 for _, _, waiter in self._sleepers if not waiter.done())

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed_s + seconds, next(self._order), waiter))
        await waiter

    def tick(self, seconds: float) -> None:
        """Move the time without waking anybody: for synchronous code."""
        self._elapsed_s += seconds

    def step(self, seconds: float) -> None:
        """The wall clock jumps; the monotonic one does not notice."""
        self._start_s += seconds

    async def advance(self, seconds: float, *, turns: int = 5) -> None:
        """Move on by `seconds`; each sleeper wakes at its own moment and gets `turns` turns of the loop."""
        end_s = self._elapsed_s + seconds
        await self._settle(turns)
        while self._sleepers and self._sleepers[0][0] <= end_s:
            due_s, _, waiter = heapq.heappop(self._sleepers)
            self._elapsed_s = max(self._elapsed_s, due_s)
            if not waiter.done():
                waiter.set_result(None)
            await self._settle(turns)
        self._elapsed_s = end_s
        await self._settle(turns)

    @staticmethod
    async def _settle(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

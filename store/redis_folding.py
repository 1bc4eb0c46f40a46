"""Adds the minutes of processes that are gone up into one row, so that restarts do not pile fields up in Redis.

A process that has not written for half an hour while Redis answered is declared dead. Its minutes older than 20 min are
folded, and what it should still send for minutes that old is refused: it was cut off alone, and its counts of that time
are lost rather than doubled. Live flushes are never touched: they reach 15 min back at most (store/redis_windows.py).
Source: BREAKER.md, Redis: fields are folded only for boot ids declared dead, whose later writes are refused.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from base.clock import Clock
from breaker.ports import StoreUnavailable
from breaker.window import MINUTE_S
from store.merge import KEPT_S
from store.redis_link import RedisLink, forgiven
from store.redis_windows import KEYS_AT_ONCE, LIVE_S, dead_key, minute_key, writers_key

DEAD_S = 1_800.0
FOLDED_FROM_S = LIVE_S + 300.0
"""Minutes older than this: five minutes beyond what a live flush may still write."""
WELL_S = 120.0
"""So long Redis must have answered before anybody is declared dead: after an outage the living write first."""
MINUTES_AT_ONCE = 20


class RedisFolding:
    """`fold` once a minute, in one process of the fleet; two at once do no harm. `folded` counts fields that went."""

    def __init__(self, link: RedisLink, clock: Clock, models: Callable[[], Sequence[str]]) -> None:
        """`models`: those there are now; a reload may change them."""
        self._link, self._clock, self._models = link, clock, models
        self._well_since: float | None = None
        self.folded = 0

    async def fold(self) -> None:
        """Raises StoreUnavailable; what was not folded then is folded later."""
        now_s = self._clock.now_s()
        try:
            well = self._well_since is not None and now_s - self._well_since >= WELL_S
            models = self._models()
            for start in range(0, len(models), KEYS_AT_ONCE):
                for model, wrote in (await self._writers(models[start : start + KEYS_AT_ONCE])).items():
                    dead = sorted(boot for boot, at in wrote.items() if at < now_s - DEAD_S)
                    if dead and well:
                        await self._fold(model, {boot: wrote[boot] for boot in dead}, now_s)
        except StoreUnavailable:
            self._well_since = None
            raise
        if self._well_since is None:
            self._well_since = now_s

    async def _writers(self, models: Sequence[str]) -> dict[str, dict[str, float]]:
        """By model, when each process last wrote; in one question."""

        async def ask(client: Any) -> list[dict[bytes, bytes]]:
            pipe = client.pipeline(transaction=False)
            for model in models:
                pipe.hgetall(writers_key(model))
            return forgiven(await pipe.execute(raise_on_error=False), {})

        kept = zip(models, await self._link.ask(ask), strict=True)
        return {
            model: {boot.decode(errors="replace"): _moment(at) for boot, at in wrote.items()} for model, wrote in kept
        }

    async def _fold(self, model: str, dead: Mapping[str, float], now_s: float) -> None:
        """`dead`: who, and when it last wrote."""
        newest, oldest = int((now_s - FOLDED_FROM_S) // MINUTE_S) - 1, int((now_s - KEPT_S) // MINUTE_S)
        ttl_ms = max(1, int(self._clock.real_s(KEPT_S + DEAD_S) * 1000))
        minutes = list(range(oldest, newest + 1))
        for start in range(0, len(minutes), MINUTES_AT_ONCE):
            keys = [minute_key(model, minute) for minute in minutes[start : start + MINUTES_AT_ONCE]]
            args: list[Any] = [ttl_ms, *dead]
            self.folded += int(await self._link.run("fold", [dead_key(model), *keys], args))
        # Its minutes that are younger than those are folded when they have come of age, in later rounds: it stays listed
        # until the last of them has.
        gone = [boot for boot, at in dead.items() if at < now_s - FOLDED_FROM_S - MINUTE_S]
        if gone:
            await self._link.ask(lambda client: client.hdel(writers_key(model), *gone))


def _moment(written: bytes) -> float:
    """When a process last wrote; what is no moment is long ago."""
    try:
        at = float(written)
    except ValueError:
        return 0.0
    return at if math.isfinite(at) else 0.0

"""Writes this process's counts to the fleet's store, so that every count arrives and none counts twice.

Rows are absolute, so what may have been lost is simply written again: after a failed flush, when the store has
forgotten this writer (restarted empty), and each minute once more after it closed (a failover loses the last writes
that were answered but not yet copied).
"""

from breaker.counting import LocalCounters
from breaker.ports import CountStore, StoreUnavailable

ROWS_AT_ONCE = 2_000
"""About half a megabyte: a full rewrite after an outage goes out in several flushes, not in one that blocks the store."""


BEAT_S = 60.0
"""An idle process writes one of its rows again so often: so it notices that the store has forgotten it, and is not taken
for dead (store/redis_folding.py)."""


class Flusher:
    """One per process. `resyncs` counts full rewrites."""

    def __init__(self, counts: CountStore, counters: LocalCounters) -> None:
        self._counts, self._counters = counts, counters
        self._suspect = False
        self._wrote_at: dict[str, float] = {}
        self.resyncs = 0

    async def flush(self, now_s: float) -> None:
        """Write what changed. Raises StoreUnavailable; the rows then come again with the next flush."""
        counters = self._counters
        counters.trim(now_s)
        counters.settle(now_s)
        for model, at in self._wrote_at.items():
            if now_s - at >= BEAT_S:
                counters.touch(model)
        minutes, fast = counters.dirty(ROWS_AT_ONCE)
        if not minutes and not fast:
            return
        try:
            forgotten = await self._counts.flush(counters.boot_id, minutes, fast)
        except StoreUnavailable:
            self._suspect = True
            raise
        counters.flushed(minutes, fast)
        known_before = forgotten & counters.written
        for row in minutes:
            self._wrote_at[row.model] = now_s
        counters.written |= self._wrote_at.keys()
        if self._suspect or known_before:
            self.distrust()

    def distrust(self) -> None:
        """The store was away or has forgotten: write everything kept again."""
        self._suspect = False
        self.resyncs += 1
        self._counters.resend()

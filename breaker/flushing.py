"""Writes this process's counts to the fleet's store, so that every count arrives and none counts twice.

Rows are absolute, so what may have been lost is simply written again: after a failed flush, when the store has
forgotten this writer (restarted empty), and each minute once more after it closed (a failover loses the last writes
that were answered but not yet copied).
"""

from breaker.counting import LocalCounters
from breaker.ports import CountStore, StoreUnavailable

ROWS_AT_ONCE = 2_000
"""About half a megabyte: a full rewrite after an outage goes out in several flushes, not in one that blocks the store."""


class Flusher:
    """One per process. `resyncs` counts full rewrites."""

    def __init__(self, counts: CountStore, counters: LocalCounters) -> None:
        self._counts, self._counters = counts, counters
        self._suspect = False
        self.resyncs = 0

    async def flush(self, now_s: float) -> None:
        """Write what changed. Raises StoreUnavailable; the rows then come again with the next flush."""
        counters = self._counters
        counters.trim(now_s)
        counters.settle(now_s)
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
        counters.written |= {row.model for row in minutes}
        if self._suspect or known_before:
            self._suspect = False
            self.resyncs += 1
            counters.resend()

"""Minutes already read, so that each full evaluation fetches only those that can still change.

In:  a CountStore.  Out: all kept minutes of scope "", oldest first.
Live flushes come at most 15 minutes late; back-fills after an outage reach further, hence a whole read now and then.
"""

from breaker.ports import CountStore
from breaker.seen import KEPT_MIN
from breaker.window import MinuteRow

LATE_MIN = 17
WHOLE_EVERY_MIN = 10


class MinuteHistory:
    """The fleet's minutes of each model as one replica last read them."""

    def __init__(self, counts: CountStore) -> None:
        self._counts = counts
        self._rows: dict[str, dict[int, MinuteRow]] = {}
        self._whole_at: dict[str, int] = {}
        self._read_to: dict[str, int] = {}

    async def minutes(self, model: str, last: int) -> list[MinuteRow]:
        """Minutes up to `last`, at most 130. Raises StoreUnavailable; what was read before then stays."""
        whole = last - self._whole_at.get(model, -KEPT_MIN) >= WHOLE_EVERY_MIN
        # After a gap (the lease was elsewhere) minutes in between would be missing or half full.
        gap = last - self._read_to.get(model, -KEPT_MIN) > 1
        first = last - KEPT_MIN + 1 if whole or gap else last - LATE_MIN + 1
        read = await self._counts.minutes(model, first, last)
        kept = {m: row for m, row in self._rows.get(model, {}).items() if last - KEPT_MIN < m < first}
        kept.update((row.minute, row) for row in read if row.scope == "")
        self._rows[model] = kept
        self._read_to[model] = last
        if whole or gap:
            self._whole_at[model] = last
        return [kept[minute] for minute in sorted(kept)]

"""Minutes already read, so that each full evaluation fetches only those that can still change.

In:  a CountStore.  Out: all kept minutes of scope "", oldest first.
Live flushes come at most 15 minutes late; back-fills after an outage reach further, hence a whole read now and then.
Whole reads are the dear ones (130 minutes a model), so a large fleet gets them a part at a time.
"""

from collections.abc import Mapping, Sequence

from breaker.ports import CountStore
from breaker.window import KEPT_MIN, MinuteRow

LATE_MIN = 17
WHOLE_EVERY_MIN = 10
GAP_MIN = LATE_MIN - 15
"""So many unread minutes the next read still covers, together with all that may be written late."""
WHOLE_AT_ONCE = 60
WHOLE_PART = 20
"""At most 60 models are read whole at once, or a twentieth of the fleet, so that nobody waits more than 20 ticks."""


class MinuteHistory:
    """The fleet's minutes of each model as one replica last read them."""

    def __init__(self, counts: CountStore) -> None:
        self._counts = counts
        self._rows: dict[str, dict[int, MinuteRow]] = {}
        self._whole_at: dict[str, int] = {}
        self._read_to: dict[str, int] = {}

    async def prepare(self, models: Sequence[str], last: int) -> bool:
        """Read some of the models whole that need it; True when each may now be judged. Raises StoreUnavailable."""
        # After a gap (the lease was elsewhere) minutes in between would be missing or half full.
        missing = self._missing(models, last)
        aged = [model for model in models if last - self._whole_at.get(model, -KEPT_MIN) >= WHOLE_EVERY_MIN]
        due = list(dict.fromkeys([*missing, *aged]))
        part = max(WHOLE_AT_ONCE, -(-len(models) // WHOLE_PART))
        await self._fetch(due[:part], last - KEPT_MIN + 1, last)
        self._whole_at.update(dict.fromkeys(due[:part], last))
        return len(missing) <= part

    async def minutes_of(self, models: Sequence[str], last: int) -> Mapping[str, list[MinuteRow]]:
        """Minutes up to `last`, at most 130 a model. Raises StoreUnavailable; what was read before then stays."""
        new = self._missing(models, last)
        if new:
            await self._fetch(new, last - KEPT_MIN + 1, last)
            self._whole_at.update(dict.fromkeys(new, last))
        await self._fetch([model for model in models if model not in new], last - LATE_MIN + 1, last)
        return {model: list(self._rows[model].values()) for model in models}

    def _missing(self, models: Sequence[str], last: int) -> list[str]:
        """Those of which minutes in between were not read, and all once the fleet's clock was set back."""
        return [model for model in models if not -GAP_MIN <= last - self._read_to.get(model, -KEPT_MIN) <= GAP_MIN]

    async def _fetch(self, models: Sequence[str], first: int, last: int) -> None:
        read = await self._counts.minutes_of(models, first, last, scope="") if models else {}
        for model, rows in read.items():
            kept = {m: row for m, row in self._rows.get(model, {}).items() if last - KEPT_MIN < m < first}
            kept.update((row.minute, row) for row in rows)  # both parts oldest first, the new one after the old
            self._rows[model] = kept
            self._read_to[model] = last

"""5-second buckets already read, so that each fast evaluation fetches only those that can still change.

In:  a CountStore.  Out: the buckets of the widest fast window, oldest first.
A bucket older than the window of hard failures is read again only with a full evaluation: one that comes so late,
after an outage of its writer, is seen up to 15 s after it was written.
"""

from collections.abc import Mapping, Sequence

from breaker.ports import CountStore
from breaker.window import FAST_BUCKET_S, MINUTE_S, FastRow

BUCKETS_A_MINUTE = MINUTE_S // FAST_BUCKET_S


class RecentBuckets:
    """The fleet's 5-second buckets of each model as one replica last read them."""

    def __init__(self, counts: CountStore) -> None:
        self._counts = counts
        self._rows: dict[str, Sequence[FastRow]] = {}
        self._read_to: dict[str, int] = {}

    async def rows_of(
        self, models: Sequence[str], first: int, last: int, *, fresh: int, whole: bool
    ) -> Mapping[str, Sequence[FastRow]]:
        """Buckets `first..last`; those from `fresh` on as they are now, older ones too with `whole`.

        Raises StoreUnavailable; what was read before then stays.
        """
        # Stored by whole minutes: reading from the start of one costs no more.
        late = max(first, fresh // BUCKETS_A_MINUTE * BUCKETS_A_MINUTE)
        new = [model for model in models if whole or self._read_to.get(model, -1) < fresh]
        await self._fetch(new, first, last, kept_from=last + 1)
        await self._fetch([model for model in models if model not in set(new)], late, last, kept_from=first)
        return {model: self._rows[model] for model in models}

    async def _fetch(self, models: Sequence[str], first: int, last: int, *, kept_from: int) -> None:
        read = await self._counts.fast_of(models, first, last) if models else {}
        for model, rows in read.items():
            kept = [row for row in self._rows.get(model, ()) if kept_from <= row.bucket < first]
            self._rows[model] = [*kept, *rows] if kept else rows
            self._read_to[model] = last

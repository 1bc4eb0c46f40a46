"""Minute counts → hourly rows → daily rows, written before Redis forgets the minutes (it keeps 2 h 10 min).

In:  minute rows of a model, every scope; hourly rows.  Out: Rollup rows.  A row holds whole sums, so writing it again
changes nothing; one that saw less than the row already kept (minutes were forgotten, Redis was emptied) is not written.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from zoneinfo import ZoneInfo

from breaker.ports import CountStore
from breaker.window import MINUTE_S, Counts, MinuteRow, total
from monitor.cron import day_began

HOUR_S = 3_600
DAY_S = 86_400
TOP_MARKS = 16
"""Fingerprints kept of an hour or a day."""
HOURS_BACK = 2
"""The hour that ended and the one before: a replica may write up to 130 minutes late, after an outage of Redis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollup:
    """Counts of one model and scope in the hour or day that begins at `starts_at` (seconds since the epoch).

    `scope` as in MinuteRow: "" for the whole model, else `scene:NAME`, `endpoint:N`, `arm:NAME`.
    """

    model: str
    scope: str
    starts_at: float
    counts: Counts
    fingerprints: Mapping[str, int] = field(default_factory=dict)
    detectors: tuple[str, ...] = ()
    """Versions of the detector that judged them, as in MinuteRow; empty: counted by a release that did not say."""

    def measures(self, other: "Rollup") -> bool:
        """Whether the rates of both may be compared: judged by one detector each, and by the same as far as they say.

        A release of the detector may find more or less in the same replies, which says nothing of the model.
        """
        known = {*self.detectors, *other.detectors}
        return len(known) <= 1

    @property
    def weight(self) -> int:
        """Attempts that were seen, of any outcome: of two rows of one span the heavier saw more."""
        c = self.counts
        return c.judged + c.hard + c.refused + c.rate_limited + c.forbidden + c.abandoned


class RollupStore(Protocol):
    """All methods raise breaker.ports.StoreUnavailable."""

    async def put_hours(self, rows: Sequence[Rollup]) -> None:
        """Write them; a row that is kept and weighs more stays."""
        ...

    async def put_days(self, rows: Sequence[Rollup]) -> None: ...

    async def hours(
        self, since: float, until: float, *, model: str | None = None, scope: str | None = None
    ) -> Sequence[Rollup]:
        """Hours that begin in [`since`, `until`), oldest first."""
        ...

    async def days(
        self, since: float, until: float, *, model: str | None = None, scope: str | None = None
    ) -> Sequence[Rollup]:
        """Days that begin in [`since`, `until`), oldest first."""
        ...


def hours_of(minutes: Iterable[MinuteRow]) -> list[Rollup]:
    """Sum minutes up by hour (UTC hours, as every zone of whole hours has them) and scope."""
    return _summed((row.minute * MINUTE_S // HOUR_S * HOUR_S, row.model, row.scope, row) for row in minutes)


def days_of(hours: Iterable[Rollup], zone: ZoneInfo) -> list[Rollup]:
    """Sum hours up by day of `zone`; an hour that lies across midnight (zones of half hours) belongs to where it begins."""
    return _summed((day_began(row.starts_at, zone), row.model, row.scope, row) for row in hours)


def _summed(rows: Iterable[tuple[float, str, str, MinuteRow | Rollup]]) -> list[Rollup]:
    groups: dict[tuple[float, str, str], list[MinuteRow | Rollup]] = {}
    for starts_at, model, scope, row in rows:
        groups.setdefault((float(starts_at), model, scope), []).append(row)
    return [
        Rollup(
            model=model,
            scope=scope,
            starts_at=starts_at,
            counts=total(row.counts for row in group),
            fingerprints=_top(row.fingerprints for row in group),
            detectors=tuple(sorted({version for row in group for version in row.detectors})),
        )
        for (starts_at, model, scope), group in sorted(groups.items(), key=lambda item: item[0])
    ]


def _top(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for part in parts:
        sums.update(part)
    return dict(sums.most_common(TOP_MARKS))


class RollUp:
    """Writes the last complete hours and the days they lie in."""

    def __init__(self, models: Sequence[str], counts: CountStore, store: RollupStore, zone: ZoneInfo) -> None:
        self._models, self._counts, self._store, self._zone = tuple(models), counts, store, zone

    async def write(self, now_s: float) -> None:
        """Roll up everything that ended by `now_s`. Raises StoreUnavailable; what was written stays right."""
        hour = int(now_s // HOUR_S) * HOUR_S
        first = (hour - HOURS_BACK * HOUR_S) // MINUTE_S
        for model in self._models:
            rows = hours_of(await self._counts.minutes(model, first, hour // MINUTE_S - 1))
            if rows:
                await self._store.put_hours(rows)
        await self._write_days(float(hour))

    async def _write_days(self, hour: float) -> None:
        """The days of the hours just written: today so far, and yesterday until its last hour is in."""
        since = day_began(hour - HOURS_BACK * HOUR_S, self._zone)
        rows = days_of(await self._store.hours(since, hour), self._zone)
        if rows:
            await self._store.put_days(rows)

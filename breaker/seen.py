"""What was seen of one model, cut to what a decision may look at.

In:  counts, probe results and evidence as read from the stores.
Out: a View whose windows end at the last complete minute and never look behind the watermark.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from breaker.evidence import Evidence
from breaker.policy import BreakerPolicy
from breaker.ports import ProbeTally
from breaker.snapshot import Snapshot
from breaker.window import FAST_BUCKET_S, KEPT_MIN, MINUTE_S, FastRow, MinuteRow

DETECTORS_MIN = 30
"""How far back it is told whose counts they are: the longest window in which a ratio is taken by the minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Rows of one model: minutes of scope "" (others are skipped), 5-second buckets, probes, evidence."""

    minutes: Sequence[MinuteRow] = ()
    fast: Sequence[FastRow] = ()
    probes: ProbeTally | None = None
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """n judged replies of which k repeated themselves."""

    n: int = 0
    k: int = 0

    @property
    def ratio(self) -> float:
        return self.k / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Per minute (n, k) from `first` to `last`, both complete minutes after the watermark."""

    first: int
    last: int
    by_minute: Mapping[int, Tally]
    sums: tuple[tuple[int, int], ...]
    """Running (n, k) before each minute from `first` on and after the last one; empty when no minute was seen."""

    def at(self, minute: int) -> Tally:
        return self.by_minute.get(minute, Tally())

    def window(self, minutes: int, *, ending: int | None = None) -> Tally:
        """Sum of `minutes` minutes, the last of them `ending` (default: the last complete one)."""
        if not self.sums:
            return Tally()
        end = (self.last if ending is None else min(ending, self.last)) - self.first + 1
        if end <= 0:
            return Tally()
        (n0, k0), (n1, k1) = self.sums[max(0, end - minutes)], self.sums[end]
        return Tally(n1 - n0, k1 - k0)


@dataclass(frozen=True, slots=True, kw_only=True)
class View(Series):
    """The series of judged replies and repeats, those beside it, and what is not counted by the minute.

    `soft`: k are the soft failures, n the same judged replies; None when there was no soft failure in any minute.
    `formed`: k are the replies without readable JSON, n those that were asked for as JSON; None when there were none.
    `detectors`: versions of the detector that judged the last 30 minutes; two while an upgrade rolls.
    """

    now_s: float
    fast: tuple[FastRow, ...]
    evidence: tuple[Evidence, ...]
    soft: Series | None = None
    formed: Series | None = None
    detectors: tuple[str, ...] = ()

    def soft_window(self, minutes: int, *, ending: int | None = None) -> Tally:
        """As `window`, k being the soft failures."""
        if self.soft is None:
            return Tally(self.window(minutes, ending=ending).n)
        return self.soft.window(minutes, ending=ending)

    def formed_window(self, minutes: int, *, ending: int | None = None) -> Tally:
        """As `window`, of the replies that were asked for as JSON."""
        return Tally() if self.formed is None else self.formed.window(minutes, ending=ending)

    def fast_since(self, window_s: float) -> list[FastRow]:
        """Buckets that began within the last `window_s` seconds, the running one included."""
        oldest = self.now_s - window_s
        return [row for row in self.fast if oldest <= row.bucket * FAST_BUCKET_S <= self.now_s]


def last_complete_minute(now_s: float, grace_s: float) -> int:
    """The newest minute that ended at least `grace_s` ago."""
    return math.floor((now_s - grace_s) / MINUTE_S) - 1


def view_of(here: Snapshot, seen: Seen, policy: BreakerPolicy, now_s: float) -> View:
    """Cut `seen` to what a decision about the model of `here` may look at."""
    return look(seen, watermark=here.watermark, now_s=now_s, grace_s=policy.grace_s)


def look(seen: Seen, *, watermark: float, now_s: float, grace_s: float) -> View:
    """Cut `seen` to the windows a decision at `now_s` may use."""
    last = last_complete_minute(now_s, grace_s)
    # A minute that holds the watermark also holds events from before it, so it is left out whole.
    first = max(last - KEPT_MIN + 1, math.ceil(watermark / MINUTE_S))
    by_minute: dict[int, Tally] = {}
    soft: dict[int, int] = {}
    formed: dict[int, Tally] = {}
    detectors: set[str] = set()
    for row in seen.minutes:
        if row.scope == "" and first <= row.minute <= last:
            minute, counts = row.minute, row.counts
            had = by_minute.get(minute, Tally())
            by_minute[minute] = Tally(had.n + counts.judged, had.k + counts.repeats)
            if minute > last - DETECTORS_MIN:
                detectors.update(row.detectors)
            if counts.soft:
                soft[minute] = soft.get(minute, 0) + counts.soft
            if counts.structured:
                had = formed.get(minute, Tally())
                formed[minute] = Tally(had.n + counts.structured, had.k + counts.unreadable)
    fast = tuple(row for row in seen.fast if row.bucket * FAST_BUCKET_S >= watermark)
    # A fast evaluation reads no minutes; its buckets say as well whose counts they are.
    detectors.update(version for row in fast for version in row.detectors)
    live = {e.id: e for e in seen.evidence if e.found_at >= watermark and now_s < e.valid_until}
    return View(
        now_s=now_s,
        first=first,
        last=last,
        by_minute=by_minute,
        sums=_running_sums(by_minute, first, last),
        fast=fast,
        evidence=tuple(live.values()),
        soft=_series({m: Tally(t.n, soft.get(m, 0)) for m, t in by_minute.items()}, first, last) if soft else None,
        formed=_series(formed, first, last) if formed else None,
        detectors=tuple(sorted(detectors)),
    )


def _series(by_minute: Mapping[int, Tally], first: int, last: int) -> Series:
    return Series(first=first, last=last, by_minute=by_minute, sums=_running_sums(by_minute, first, last))


def _running_sums(by_minute: Mapping[int, Tally], first: int, last: int) -> tuple[tuple[int, int], ...]:
    if not by_minute:
        return ()
    sums = [(0, 0)]
    for minute in range(first, last + 1):
        row, (n, k) = by_minute.get(minute), sums[-1]
        sums.append((n + row.n, k + row.k) if row else (n, k))
    return tuple(sums)

"""What the fleet page shows of each model: figures read off the counts, without words and without I/O.

In:  the snapshot, the explanation and the minutes of a model.  Out: a Row; the rows of a fleet in the order of trouble.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest

from breaker.explain import Explanation
from breaker.levels import Level, Mode, Reason
from breaker.seen import last_complete_minute
from breaker.snapshot import Snapshot, Transition
from breaker.window import Counts, MinuteRow, total
from console.fleet_ports import Known, Refusal, Share
from console.refusals import REFUSED, nobody_answers

SPARK_BUCKETS = 24
SPARK_BUCKET_MIN = 5
"""24 bars of five minutes: the two hours that the counters keep."""
RATE_MIN = 5
HARD_MIN = 10
LATELY_S = 86_400.0
LATELY_MOST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar of a sparkline: replies judged and those that repeated themselves."""

    n: int
    k: int

    @property
    def ratio(self) -> float | None:
        return self.k / self.n if self.n else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One model now. `n` and `k`: judged and repeats in the L1 window; `known`: there are enough to call it a rate."""

    known_as: Known
    snapshot: Snapshot
    explanation: Explanation | None
    shares: tuple[Share, ...]
    n: int
    k: int
    known: bool
    spark: tuple[Bar, ...]
    per_min: float
    hard: int
    read_at: float
    refusals: tuple[Refusal, ...] = ()
    """Endpoints that are left alone because their vendor said so."""

    @property
    def model(self) -> str:
        return self.snapshot.model

    @property
    def level(self) -> Level:
        return self.snapshot.effective

    @property
    def refused(self) -> bool:
        """Whether its vendor turns us away at every endpoint, so that it serves nobody whatever its level."""
        return nobody_answers(self.refusals)

    @property
    def stands(self) -> str:
        """Its level, or `refused` where that is what keeps it from answering."""
        return REFUSED if self.refused and self.level is not Level.OPEN else self.level.value

    @property
    def ratio(self) -> float | None:
        return self.k / self.n if self.n else None

    @property
    def forced(self) -> bool:
        return self.snapshot.mode is not Mode.AUTO

    @property
    def abnormal(self) -> bool:
        return self.explanation is not None and bool(self.explanation.abnormal)

    @property
    def troubled(self) -> bool:
        """Whether a person should look at it: not healthy, refused to us, held by hand, flagged, or would be moved."""
        would = self.snapshot.would_be is not None and self.snapshot.would_be is not Level.HEALTHY
        turned_away = self.refused or any(not one.waits for one in self.refusals)
        by_hand = self.snapshot.mode is Mode.FORCED_NORMAL
        return self.level is not Level.HEALTHY or turned_away or by_hand or would or self.abnormal


def row_of(
    known: Known,
    snapshot: Snapshot,
    explanation: Explanation | None,
    minutes: Sequence[MinuteRow],
    shares: Sequence[Share],
    refusals: Sequence[Refusal] = (),
    *,
    now_s: float,
    grace_s: float,
) -> Row:
    """Figures of one model; without an explanation (the store is gone) rates are unknown."""
    last = last_complete_minute(now_s, grace_s)
    first_rule = next((r for r in explanation.rules if r.reason is Reason.RATIO_10M), None) if explanation else None
    numbers = dict(first_rule.numbers) if first_rule else {}
    return Row(
        known_as=known,
        snapshot=snapshot,
        explanation=explanation,
        shares=tuple(shares),
        refusals=tuple(refusals),
        n=first_rule.n if first_rule else 0,
        k=int(numbers.get("k", 0)),
        known=first_rule is not None and first_rule.known,
        spark=spark(minutes, last),
        per_min=attempts(_within(minutes, last, RATE_MIN)) / RATE_MIN,
        hard=_within(minutes, last, HARD_MIN).hard,
        read_at=now_s,
    )


def spark(minutes: Sequence[MinuteRow], last: int) -> tuple[Bar, ...]:
    """The two hours up to minute `last`, oldest first."""
    first = last - SPARK_BUCKETS * SPARK_BUCKET_MIN + 1
    sums = [[0, 0] for _ in range(SPARK_BUCKETS)]
    for row in minutes:
        if row.scope == "" and first <= row.minute <= last:
            bucket = sums[(row.minute - first) // SPARK_BUCKET_MIN]
            bucket[0] += row.counts.judged
            bucket[1] += row.counts.repeats
    return tuple(Bar(n=n, k=k) for n, k in sums)


def attempts(counts: Counts) -> int:
    """Calls made to the model: judged replies, hard failures, and what was refused for us."""
    return counts.judged + counts.hard + counts.rate_limited + counts.forbidden


def _within(minutes: Sequence[MinuteRow], last: int, width: int) -> Counts:
    return total(row.counts for row in minutes if row.scope == "" and last - width < row.minute <= last)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetNow:
    """All models at one moment, trouble first. `read_at`: when the oldest of the counts were read."""

    at: float
    rows: tuple[Row, ...]
    phrase_only: tuple[str, ...] = ()
    """Routes without a model that may answer, whose users get prepared phrases."""
    errors_only: tuple[str, ...] = ()
    """Those that have no phrases either: users get an error."""
    detector_suspect: bool = False
    store_down: bool = False
    sql_fails: str = ""
    """Why the database cannot be read or takes no rows."""

    @property
    def troubled(self) -> list[Row]:
        return [row for row in self.rows if row.troubled]

    @property
    def quiet(self) -> list[Row]:
        return [row for row in self.rows if not row.troubled]

    @property
    def idle(self) -> bool:
        """Whether nothing is asked of any model: then nobody is ill, and nobody is known to be well."""
        return not self.store_down and not any(row.n or row.per_min or row.hard for row in self.rows)

    @property
    def age_s(self) -> float:
        return self.at - min((row.read_at for row in self.rows), default=self.at)

    def count(self, stands: str) -> int:
        return sum(row.stands == stands for row in self.rows)


def moved_lately(rows: Iterable[Row], now_s: float) -> list[Transition]:
    """The newest moves of a day, newest first: what a page that was looked at a minute ago did not show yet."""
    moves = (move for row in rows for move in row.snapshot.transitions if move.at > now_s - LATELY_S)
    return nlargest(LATELY_MOST, moves, key=lambda move: (move.at, move.epoch))


def in_order(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Worst level first, then by ratio, then by name."""
    return tuple(sorted(rows, key=lambda r: (-_weight(r), -(r.ratio or 0.0) * r.troubled, r.model)))


def _weight(row: Row) -> float:
    severity = Level.OPEN.severity if row.refused else row.level.severity
    return severity + 0.5 * (row.refused or row.level is Level.OPEN) + 0.25 * row.troubled


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the reader wants to see of the fleet; empty: all."""

    route: str = ""
    scene: str = ""
    vendor: str = ""
    level: str = ""
    text: str = ""

    def takes(self, row: Row) -> bool:
        about = row.known_as
        return (
            (not self.route or self.route in about.routes)
            and (not self.scene or self.scene in about.scenes)
            and (not self.vendor or self.vendor == about.vendor)
            and (not self.level or self.level == row.stands)
            and (not self.text or self.text.lower() in f"{row.model} {about.vendor}".lower())
        )

    @property
    def any(self) -> bool:
        return bool(self.route or self.scene or self.vendor or self.level or self.text)

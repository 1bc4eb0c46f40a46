"""What the page of one model shows: sums by class, scene and endpoint, the ratio over time, the loops it says most.

Pure: minutes, failed replies and hours in, records out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from breaker.seen import last_complete_minute
from breaker.snapshot import Snapshot, Transition
from breaker.window import MINUTE_S, Counts, MinuteRow, total
from console.fleet_now import SPARK_BUCKET_MIN, SPARK_BUCKETS, Bar, attempts
from console.record_ports import Failed, Hour

SHOWN_MIN = SPARK_BUCKETS * SPARK_BUCKET_MIN
RATIO_MIN = 10
CLASSES = (
    "stuck",
    "phrase_loop",
    "sentence_loop",
    "paragraph_loop",
    "restatement",
    "format_runaway",
    "garble",
    "empty",
    "invalid_format",
    "refused",
    "timeouts",
    "connect_failed",
    "server_errors",
    "broken_streams",
    "rate_limited",
    "forbidden",
)
"""Repetition first, then what is no repetition, then hard failures."""
TOP_LOOPS = 8
DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How often one class was counted in two hours, and when: bars share the judged replies as their whole."""

    name: str
    count: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One scene or endpoint of the model in two hours."""

    name: str
    counts: Counts

    @property
    def attempts(self) -> int:
        return attempts(self.counts)

    @property
    def mean_ms(self) -> float | None:
        return self.counts.elapsed_ms / self.attempts if self.attempts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """One fingerprint: how often it was counted in two hours, and a sample of it if one was kept."""

    fingerprint: str
    count: int
    sample: Failed | None


def kinds(minutes: Sequence[MinuteRow], last: int) -> list[Kind]:
    """Classes that were seen at all, most frequent first within their kind."""
    whole = [row for row in minutes if row.scope == "" and last - SHOWN_MIN < row.minute <= last]
    sums = total(row.counts for row in whole)
    return [
        Kind(name=name, count=getattr(sums, name), bars=_bars(whole, last, name))
        for name in CLASSES
        if getattr(sums, name)
    ]


def _bars(rows: Sequence[MinuteRow], last: int, name: str) -> tuple[Bar, ...]:
    buckets = [[0, 0] for _ in range(SPARK_BUCKETS)]
    for row in rows:
        bucket = buckets[(row.minute - (last - SHOWN_MIN + 1)) // SPARK_BUCKET_MIN]
        bucket[0] += attempts(row.counts)
        bucket[1] += getattr(row.counts, name)
    return tuple(Bar(n=n, k=k) for n, k in buckets)


def parts(minutes: Sequence[MinuteRow], last: int, kind: str) -> list[Part]:
    """Sums of scopes `kind:NAME`, busiest first."""
    found: dict[str, list[Counts]] = {}
    for row in minutes:
        if row.scope.startswith(f"{kind}:") and last - SHOWN_MIN < row.minute <= last:
            found.setdefault(row.scope.removeprefix(f"{kind}:"), []).append(row.counts)
    made = [Part(name=name, counts=total(counts)) for name, counts in found.items()]
    return sorted(made, key=lambda part: (-part.attempts, part.name))


def loops(minutes: Sequence[MinuteRow], failed: Sequence[Failed], last: int) -> list[Loop]:
    """The fingerprints counted most; those known only from kept replies come after."""
    counted: Counter[str] = Counter()
    for row in minutes:
        if row.scope == "" and last - SHOWN_MIN < row.minute <= last:
            counted.update(row.fingerprints)
    samples: dict[str, Failed] = {}
    for one in failed:
        if one.fingerprint:
            samples.setdefault(one.fingerprint, one)
            counted.setdefault(one.fingerprint, 0)
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return [Loop(fingerprint=mark, count=n, sample=samples.get(mark)) for mark, n in ordered[:TOP_LOOPS]]


def series(
    minutes: Sequence[MinuteRow], here: Snapshot, moves: Sequence[Transition], now_s: float, grace_s: float
) -> Mapping[str, Any]:
    """The timeline as a chart reads it: per minute the 10-minute ratio (None: nothing judged) and the replies judged."""
    last = last_complete_minute(now_s, grace_s)
    by_minute = {row.minute: row.counts for row in minutes if row.scope == ""}
    shown = range(last - SHOWN_MIN + 1, last + 1)
    ratios: list[float | None] = []
    for minute in shown:
        window = [by_minute[m] for m in range(minute - RATIO_MIN + 1, minute + 1) if m in by_minute]
        n, k = sum(c.judged for c in window), sum(c.repeats for c in window)
        ratios.append(round(k / n, 4) if n else None)
    began = shown[0] * MINUTE_S
    return {
        "now": now_s,
        "at": [minute * MINUTE_S for minute in shown],
        "ratio": ratios,
        "judged": [by_minute[m].judged if m in by_minute else 0 for m in shown],
        "watermark": here.watermark if here.watermark >= began else None,
        "moves": [
            {"at": move.at, "from": move.from_level.value, "to": move.to_level.value, "enforced": move.enforced}
            for move in moves
            if move.at >= began
        ],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Ratios by day (newest last) and hour of the day, in one zone; None: nothing judged then."""

    days: tuple[str, ...]
    cells: tuple[tuple[Bar, ...], ...]
    by_hour: tuple[Bar, ...]


def heat_map(hours: Sequence[Hour], now_s: float, zone: tzinfo = UTC) -> HeatMap:
    """The last seven days. Days and hours are those of `zone`."""
    today = datetime.fromtimestamp(now_s, zone).date().toordinal()
    sums: dict[tuple[int, int], list[int]] = {}
    for hour in hours:
        when = datetime.fromtimestamp(hour.at, zone)
        cell = sums.setdefault((when.date().toordinal(), when.hour), [0, 0])
        cell[0] += hour.judged
        cell[1] += hour.repeats
    shown = range(today - DAYS + 1, today + 1)

    def bar(cells: Sequence[Sequence[int]]) -> Bar:
        return Bar(n=sum(c[0] for c in cells), k=sum(c[1] for c in cells))

    return HeatMap(
        days=tuple(datetime.fromordinal(day).strftime("%m-%d") for day in shown),
        cells=tuple(tuple(bar([sums.get((day, hour), (0, 0))]) for hour in range(24)) for day in shown),
        by_hour=tuple(bar([sums.get((day, hour), (0, 0)) for day in shown]) for hour in range(24)),
    )

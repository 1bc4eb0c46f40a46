"""What the last hour says of a model: records in, findings out.

Decides; pure.  In:  hourly counts of one model, every scope.  Out: Finding records, and figures for people.
The rules: +50 % on the hour before (BREAKER.md, Period on period: k >= 10, exact test p < .01; the naive rule cries
wolf in 20 % of hours), +40 % per scene, and a share of repaired JSON that rises and does not fall. Each finding marks the
model; whether it is worth a message now is a fact of the finding (`sure`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from breaker.policy import BreakerPolicy
from breaker.seen import Tally
from breaker.triggers.periods import growth_chance, rose
from breaker.triggers.trend import mann_kendall, never_falls
from breaker.window import Counts
from monitor.alerts.alert import AlertKind
from monitor.policy import MonitorPolicy
from monitor.rollup import DAY_S, HOUR_S, Rollup

CLASSES = ("stuck", "phrase_loop", "sentence_loop", "paragraph_loop", "restatement", "format_runaway")
WEEK_S = 7 * DAY_S
SCENE = "scene:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found about one model at `at`; it marks the model until `until`. Ratios and chances 0..1.

    `id` is made of what was found and in which hour, so that finding it again is the same finding.
    """

    id: str
    at: float
    kind: AlertKind
    model: str
    until: float
    scene: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


class FindingStore(Protocol):
    """All methods raise breaker.ports.StoreUnavailable."""

    async def add(self, finding: Finding) -> bool:
        """False when that id is known already."""
        ...

    async def findings(
        self, *, model: str | None = None, kind: AlertKind | None = None, since: float = 0.0, limit: int = 200
    ) -> Sequence[Finding]:
        """Newest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One hour of one model or scene for people: triggers per 1,000 judged replies, share of each class of the bad."""

    starts_at: float
    judged: int
    repeats: int
    per_1000: float
    classes: Mapping[str, float]
    hard_ratio: float


def figures(row: Rollup) -> Figures:
    """The figures of one row; zeros where nothing was judged."""
    c = row.counts
    classes = {name: getattr(c, name) / c.repeats for name in CLASSES if getattr(c, name)} if c.repeats else {}
    tried = c.judged + c.hard
    return Figures(
        starts_at=row.starts_at,
        judged=c.judged,
        repeats=c.repeats,
        per_1000=1_000.0 * c.ratio,
        classes=classes,
        hard_ratio=c.hard / tried if tried else 0.0,
    )


def profile(hours: Iterable[Rollup], offset_s: float) -> list[float | None]:
    """Repeats per 1,000 by hour of day (0..23, local by `offset_s`), over all `hours`; None where nothing was judged."""
    sums = [[0, 0] for _ in range(24)]
    for row in hours:
        cell = sums[int((row.starts_at + offset_s) % DAY_S // HOUR_S)]
        cell[0] += row.counts.judged
        cell[1] += row.counts.repeats
    return [1_000.0 * k / n if n else None for n, k in sums]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rise:
    """A rate that rose beyond chance over one hour, or stands over two. `sure`: worth a message now."""

    now: Tally
    before: Tally
    hours: int
    sure: bool


def comparable(rows: Sequence[Rollup], hour: float) -> dict[tuple[str, float], Counts]:
    """The hours, by scope and start, whose rates may be compared with those of `hour`: judged by the same detector.

    While an upgrade rolls, and for as many hours as a rule looks back, there is nothing to compare with: no finding.
    """
    now = {row.scope: row for row in rows if row.starts_at == hour}
    return {(row.scope, row.starts_at): row.counts for row in rows if row.scope in now and now[row.scope].measures(row)}


def hour_finding(
    model: str, hour: float, rows: Mapping[tuple[str, float], Counts], found_at: float,
    breaker: BreakerPolicy, policy: MonitorPolicy,
) -> Finding | None:  # fmt: skip
    """Whether repeats of the whole model rose by half on the hour before. `rows`: counts by (scope, start of hour)."""
    rise = risen(rows, "", hour, breaker.hourly_growth, breaker, policy)
    if rise is None:
        return None
    last_week = _tally(rows, "", hour - WEEK_S)
    numbers = _numbers(rise) | {"last_week": last_week.ratio, "last_week_n": float(last_week.n)}
    return Finding(
        id=f"hourly:{model}:{hour:.0f}",
        at=found_at,
        kind=AlertKind.HOURLY,
        model=model,
        until=found_at + policy.abnormal_s,
        numbers=numbers,
        facts=_facts(rise, hour, rows.get(("", hour), Counts())),
    )


def scene_findings(
    model: str, hour: float, rows: Mapping[tuple[str, float], Counts], found_at: float,
    breaker: BreakerPolicy, policy: MonitorPolicy,
) -> list[Finding]:  # fmt: skip
    """One for each scene whose repeats rose by 40 %. `traffic`: the scene's part of the model's judged replies."""
    whole = _tally(rows, "", hour).n
    found = []
    for scope in sorted({scope for scope, at in rows if at == hour and scope.startswith(SCENE)}):
        rise = risen(rows, scope, hour, breaker.scene_growth, breaker, policy)
        if rise is None:
            continue
        scene = scope.removeprefix(SCENE)
        numbers = _numbers(rise) | {"traffic": _tally(rows, scope, hour).n / whole if whole else 0.0}
        found.append(
            Finding(
                id=f"scene:{model}:{scene}:{hour:.0f}",
                at=found_at,
                kind=AlertKind.SCENE,
                model=model,
                scene=scene,
                # Until the next hour is judged, and a little longer: a late job must not let it lapse.
                until=found_at + HOUR_S + 300.0,
                numbers=numbers,
                facts=_facts(rise, hour, rows.get((scope, hour), Counts())),
            )
        )
    return found


def risen(
    rows: Mapping[tuple[str, float], Counts], scope: str, hour: float, growth: float,
    breaker: BreakerPolicy, policy: MonitorPolicy,
) -> Rise | None:  # fmt: skip
    """Whether the rate rose in `hour`, or rose in the hour before and stands.

    The guarded rule is wrong in up to 0.8 % of hours, which is a message a day for eight busy models; so only what is
    rarer (`tell_chance`), or an hour later still holds over both hours against both before, is sure.
    Measured, figures and why: docs/decisions/0009-when-a-rise-is-told.md.
    """
    last, now, before = (_tally(rows, scope, hour - back * HOUR_S) for back in (2, 0, 1))
    if _rose(now, before, growth, breaker):
        sure = growth_chance(now, before) < policy.tell_chance or _stands(rows, scope, hour, growth, breaker, policy)
        return Rise(now=now, before=before, hours=1, sure=sure)
    # What was sure an hour ago has been said; it lapses by itself.
    if growth_chance(before, last) >= policy.tell_chance and _stands(rows, scope, hour, growth, breaker, policy):
        both, earlier = _pairs(rows, scope, hour)
        return Rise(now=both, before=earlier, hours=2, sure=True)
    return None


def _stands(
    rows: Mapping[tuple[str, float], Counts], scope: str, hour: float, growth: float,
    breaker: BreakerPolicy, policy: MonitorPolicy,
) -> bool:  # fmt: skip
    """Whether the hour before was marked, and both hours together are as unlikely as what is told at once."""
    before, last = (_tally(rows, scope, hour - back * HOUR_S) for back in (1, 2))
    both, earlier = _pairs(rows, scope, hour)
    return (
        _rose(before, last, growth, breaker)
        and _rose(both, earlier, growth, breaker)
        and growth_chance(both, earlier) < policy.tell_chance
    )


def _pairs(rows: Mapping[tuple[str, float], Counts], scope: str, hour: float) -> tuple[Tally, Tally]:
    """This hour with the one before, and the two before those."""
    now, before, last, first = (_tally(rows, scope, hour - back * HOUR_S) for back in range(4))
    return Tally(now.n + before.n, now.k + before.k), Tally(last.n + first.n, last.k + first.k)


def parse_finding(
    model: str, hour: float, rows: Mapping[tuple[str, float], Counts], found_at: float, policy: MonitorPolicy
) -> Finding | None:
    """Whether ever more structured replies need the last step of the parse ladder: an early sign (SPEC 2.7).

    Mann-Kendall over the last hours, as the breaker's trend rule: nearly all pairs rise, the last is half above the
    first, and no hour falls below 0.8 of the highest before it.
    """
    hours = [hour - back * HOUR_S for back in range(policy.trend_hours - 1, -1, -1)]
    counts = [rows.get(("", at), Counts()) for at in hours]
    repaired = sum(c.repaired for c in counts)
    if repaired < policy.trend_min_repaired or not all(c.structured for c in counts):
        return None
    shares = [c.repaired / c.structured for c in counts]
    pairs = len(shares) * (len(shares) - 1) // 2
    score = mann_kendall(shares)
    if score < 0.7 * pairs or shares[-1] < 1.5 * shares[0] or not never_falls(shares, 0.8):
        return None
    return Finding(
        id=f"parse_trend:{model}:{hour:.0f}",
        at=found_at,
        kind=AlertKind.PARSE_TREND,
        model=model,
        until=found_at + policy.abnormal_s,
        numbers={"score": score, "first": shares[0], "last": shares[-1], "repaired": repaired},
        facts={"hour": hour, "shares": [round(share, 4) for share in shares]},
    )


def _rose(now: Tally, before: Tally, growth: float, breaker: BreakerPolicy) -> bool:
    # An hour that hardly saw traffic (a model's first, or one it spent out of service) is no measure of the next.
    return min(now.n, before.n) >= breaker.warn_min_judged and rose(now, before, growth, breaker)


def _tally(rows: Mapping[tuple[str, float], Counts], scope: str, hour: float) -> Tally:
    counts = rows.get((scope, hour), Counts())
    return Tally(counts.judged, counts.repeats)


def _numbers(rise: Rise) -> dict[str, float]:
    now, before = rise.now, rise.before
    # A previous zero has no ratio to grow from: it is taken as half a reply, and the test is not asked (BREAKER.md).
    base = before.ratio or 0.5 / max(1, before.n)
    return {
        "ratio": now.ratio,
        "n": float(now.n),
        "repeats": float(now.k),
        "previous": before.ratio,
        "previous_n": float(before.n),
        "growth": now.ratio / base,
        "chance": growth_chance(now, before) if before.k else 0.0,
    }


def _facts(rise: Rise, hour: float, counts: Counts) -> dict[str, Any]:
    """`hours`: over how many the rise was taken; `sure`: worth a message now (monitor/alerts/mute.py)."""
    return {"hour": hour, "hours": rise.hours, "sure": rise.sure, "top_class": _top_class(counts)}


def _top_class(counts: Counts) -> str:
    top = max(CLASSES, key=lambda name: getattr(counts, name))
    return top if getattr(counts, top) else ""

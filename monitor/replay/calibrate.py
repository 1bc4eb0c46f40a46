"""Thresholds from labelled replies: for each scene, where each line would stand best, and what moving it costs.

Pure. The engine itself judges, with one threshold moved and all else as configured, so a curve says what the service would
do and not what one figure says. In each reply's case the line between flagged and not is found by bisection: a higher
threshold never flags more.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from breaker.seen import Tally
from detector.profile import Profile
from monitor.nightly.compare import interval
from monitor.replay.records import Stored
from monitor.replay.rules import Rules

LEAST_HEALTHY, LEAST_ILL = 30, 10
"""Fewer labelled replies of a scene are shown and suggest nothing: with 30 clean ones, a false-alarm rate of 10 % may hide."""
ALLOWED_FALSE = 0.002
"""False alarms allowed among healthy replies: each one is a good answer that a user does not get."""
GRIDS: dict[str, tuple[float, ...]] = {
    "trigram_repeat": tuple(n / 100 for n in range(40, 96, 3)),
    "char_repeat": tuple(n / 100 for n in range(20, 81, 3)),
    "context_sim": tuple(n / 100 for n in range(55, 100, 3)),
    "cycle_count": (3, 4, 5, 6, 7, 8, 10, 12, 16, 24),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One place for the line: false alarms among the healthy, finds among the degenerate."""

    value: float
    false: int
    found: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One threshold of one scene. `suggested` is `now` where nothing is better, or where labels are too few."""

    scene: str
    name: str
    now: float
    suggested: float
    healthy: int
    ill: int
    points: tuple[Point, ...]
    enough: bool

    @property
    def moves(self) -> bool:
        return self.suggested != self.now

    @property
    def bends(self) -> bool:
        """Whether moving the line changes anything at all."""
        return len({(point.false, point.found) for point in self.points}) > 1

    def at(self, value: float) -> Point:
        """The point of that value."""
        return next(point for point in self.points if point.value == value)

    def false_rate(self, point: Point) -> tuple[float, float]:
        """The rate, and the highest it may truly be (95 %)."""
        tally = Tally(self.healthy, point.false)
        if point.false == 0 and self.healthy:
            return 0.0, 1 - math.pow(0.05, 1 / self.healthy)
        return tally.ratio, interval(tally)[1]

    def found_rate(self, point: Point) -> float:
        return point.found / self.ill if self.ill else 0.0


def curves(
    replies: Iterable[Stored],
    rules: Rules,
    *,
    allowed: float = ALLOWED_FALSE,
    told: Callable[[], None] = lambda: None,
) -> list[Curve]:
    """The curves of every scene and threshold; replies without text or label are left out. `told` after each reply."""
    scenes: dict[str, list[tuple[Stored, dict[str, float]]]] = {}
    for reply in replies:
        if reply.text is not None and reply.truth is not None:
            scenes.setdefault(reply.scene, []).append((reply, {name: edge(reply, rules, name) for name in GRIDS}))
        told()
    return [
        _curve(scene, name, rows, rules, allowed)
        for scene, rows in sorted(scenes.items())
        for name in GRIDS
        if name != "context_sim" or any(reply.previous for reply, _ in rows)
    ]


def edge(reply: Stored, rules: Rules, name: str) -> float:
    """The highest value of the threshold at which the reply is still flagged; -inf: at none, +inf: at every one."""
    profile, grid = rules.profile(reply), GRIDS[name]
    if not _flagged(reply, rules, profile, name, grid[0]):
        return -math.inf
    if _flagged(reply, rules, profile, name, grid[-1]):
        return math.inf
    low, high = 0, len(grid) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _flagged(reply, rules, profile, name, grid[middle]) else (low, middle)
    return grid[low]


def _flagged(reply: Stored, rules: Rules, profile: Profile, name: str, value: float) -> bool:
    change: dict[str, Any] = {name: int(value) if name == "cycle_count" else value}
    moved = replace(profile, **change)
    named = replace(reply, profile=MOVED)
    return replace(rules, profiles={**rules.profiles, MOVED: moved}).flags(named)


MOVED = "\0moved"


def _curve(
    scene: str, name: str, rows: Sequence[tuple[Stored, dict[str, float]]], rules: Rules, allowed: float
) -> Curve:
    now = float(getattr(rules.profile(rows[0][0]), name))
    values = sorted({*GRIDS[name], now})
    edges = [(reply.truth, found[name]) for reply, found in rows]
    points = tuple(
        Point(
            value=value,
            false=sum(1 for truth, at in edges if not truth and at >= _on_grid(value, name)),
            found=sum(1 for truth, at in edges if truth and at >= _on_grid(value, name)),
        )
        for value in values
    )
    healthy, ill = sum(1 for truth, _ in edges if not truth), sum(1 for truth, _ in edges if truth)
    enough = healthy >= LEAST_HEALTHY and ill >= LEAST_ILL
    return Curve(
        scene=scene,
        name=name,
        now=now,
        suggested=_best(points, now, int(allowed * healthy)) if enough else now,
        healthy=healthy,
        ill=ill,
        points=points,
        enough=enough,
    )


def _on_grid(value: float, name: str) -> float:
    """The value as the grid knows it: edges are told on the grid, a configured line may lie between."""
    return min((at for at in GRIDS[name] if at >= value - 1e-9), default=GRIDS[name][-1])


def _best(points: Sequence[Point], now: float, allowed: int) -> float:
    """The most found within the false alarms allowed; among equals the fewest false, then the nearest to `now`."""
    able = [point for point in points if point.false <= allowed]
    if not able:
        # Nothing keeps to it by this line alone: the fewest false alarms it can give.
        least = min(point.false for point in points)
        able = [point for point in points if point.false == least]
    best = max(able, key=lambda point: (point.found, -point.false, -abs(point.value - now)))
    return best.value

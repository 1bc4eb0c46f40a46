"""How the healthy take over what sick models give up: in steps, so that a backup is not knocked over by it.

Decides; time is handed in.
In:  a route, levels, how long ago the load was shed.  Out: each candidate's share now.
Source: BREAKER.md, Opening safely: "backups take load in steps"; why so: docs/decisions/0010-who-takes-over.md. What is shed is shed at once; only who takes it is eased.
A candidate that takes over may add a quarter of the route's traffic to its configured share with each step; what does
not fit goes to the other healthy candidates, those of later tiers too, and comes back to it as the steps pass. Nobody
is turned away for the sake of a step: where all healthy ones are at their limit, the limit gives way.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from types import MappingProxyType

from breaker.levels import Level
from breaker.policy import BreakerPolicy
from breaker.share import SHUT, RouteCandidate, shares

GIVES_UP = SHUT | {Level.REDUCED}
Standing = tuple[Level | None, ...]


def steps(ratio: float) -> int:
    """After so many steps everybody has what `shares` says."""
    return math.ceil(1.0 / ratio) - 1


def eased(
    candidates: Sequence[RouteCandidate],
    levels: Mapping[str, Level],
    step: int,
    *,
    ratio: float,
    reduced_share: float,
) -> Mapping[str, float]:
    """Return the shares at `step` (0: just now) after a model gave up its load; they add up as those of `shares` do.

    `ratio`: the part of the route's traffic that a candidate may take over with each step.
    """
    due = dict(shares(candidates, levels, reduced_share=reduced_share))
    takers = [c for c in candidates if c.weight > 0 and levels.get(c.model) not in GIVES_UP]
    if step >= steps(ratio) or not takers:
        return due
    before = shares(candidates, {}, reduced_share=reduced_share)
    limits = {c.model: before[c.model] + ratio * (step + 1) for c in takers}
    now = due | {model: min(due[model], limit) for model, limit in limits.items()}
    over = {model: due[model] - now[model] for model in limits}
    left = sum(over.values())
    ordered = sorted(takers, key=lambda c: c.priority)
    for _, tier in groupby(ordered, key=lambda c: c.priority):
        left -= _spread(now, {c.model: limits[c.model] - now[c.model] for c in tier}, left)
    _spread(now, over, left)
    return now


def _spread(now: dict[str, float], room: Mapping[str, float], part: float) -> float:
    """Add `part` to `now` in proportion to the room, as far as it goes; how much was placed."""
    whole = sum(room.values())
    placed = min(part, whole)
    if placed <= 0.0:
        return 0.0
    for model, free in room.items():
        now[model] += placed * (free / whole)
    return placed


class RouteShares:
    """The shares that routing obeys; worked out once for each standing of a route and step of a take-over.

    Levels move by the minute, requests come by the hundred. `shed_at`: when a model last gave up load (server time).
    """

    def __init__(self, policy: BreakerPolicy, shed_at: Callable[[str], float], now_s: Callable[[], float]) -> None:
        self._policy, self._shed_at, self._now_s = policy, shed_at, now_s
        self._last = steps(policy.takeover_step_ratio)
        self._known = lru_cache(maxsize=1024)(self._worked_out)

    def __call__(self, candidates: Sequence[RouteCandidate], levels: Mapping[str, Level]) -> Mapping[str, float]:
        standing = tuple(levels.get(c.model) for c in candidates)
        return self._known(tuple(candidates), standing, self._step(candidates, standing))

    def _step(self, candidates: Sequence[RouteCandidate], standing: Standing) -> int:
        step_s = self._policy.takeover_step_s
        sick = [c.model for c, level in zip(candidates, standing, strict=True) if level in GIVES_UP]
        if not sick or step_s <= 0.0:
            return self._last
        passed_s = self._now_s() - max(self._shed_at(model) for model in sick)
        return max(0, min(self._last, int(passed_s // step_s)))

    def _worked_out(self, candidates: tuple[RouteCandidate, ...], standing: Standing, step: int) -> Mapping[str, float]:
        levels = {c.model: level for c, level in zip(candidates, standing, strict=True) if level is not None}
        ratio, reduced = self._policy.takeover_step_ratio, self._policy.reduced_share
        return MappingProxyType(dict(eased(candidates, levels, step, ratio=ratio, reduced_share=reduced)))

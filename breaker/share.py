"""Who gets how much of a route: candidates and levels in, shares out.

Pure; router, breaker, console and command line all use it.  Source: BREAKER.md, Shares.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from breaker.levels import Level

SHUT = frozenset({Level.OPEN, Level.RECOVERING})
"""Levels that take no ordinary traffic; RECOVERING gets calls by permit only."""
REDUCED_SHARE = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCandidate:
    """One model of a route. `weight` >= 0 is relative within its tier; the lowest `priority` is tried first."""

    model: str
    weight: float
    priority: int = 0


def phrase_only(candidates: Sequence[RouteCandidate], levels: Mapping[str, Level]) -> bool:
    """Whether no model of the route may take traffic, so that it answers with prepared phrases alone."""
    return not _usable(candidates, levels)


def without(levels: Mapping[str, Level], refused: Collection[str]) -> Mapping[str, Level]:
    """The levels with `refused` models as open ones: their vendor turns every endpoint of theirs away."""
    return {**levels, **dict.fromkeys(refused, Level.OPEN)} if refused else levels


def shares(
    candidates: Sequence[RouteCandidate], levels: Mapping[str, Level], *, reduced_share: float = REDUCED_SHARE
) -> Mapping[str, float]:
    """Return each candidate's part of the route's traffic; they add up to 1, or are all 0 in a phrase-only route.

    A model without a level counts as HEALTHY. A reduced model keeps `reduced_share` of the route, or its configured
    share if that is lower; the healthy of its tier take over in proportion, else the next tier that has one.
    """
    out = dict.fromkeys((candidate.model for candidate in candidates), 0.0)
    usable = _usable(candidates, levels)
    if not usable:
        return out
    ordered = sorted(usable, key=lambda candidate: candidate.priority)
    tiers = [list(tier) for _, tier in groupby(ordered, key=lambda candidate: candidate.priority)]
    first = tiers[0]
    taking = next((healthy for tier in tiers if (healthy := _healthy(tier, levels))), None)
    if taking is None:
        # Everyone is reduced: no one could take over, so the configured weights apply among them.
        return out | _in_proportion(first, 1.0)
    configured = sum(c.weight for c in candidates if c.priority == first[0].priority)
    for candidate in first:
        if levels.get(candidate.model) is Level.REDUCED:
            out[candidate.model] = min(reduced_share, candidate.weight / configured)
    return out | _in_proportion(taking, max(0.0, 1.0 - sum(out.values())))


def _usable(candidates: Sequence[RouteCandidate], levels: Mapping[str, Level]) -> list[RouteCandidate]:
    return [c for c in candidates if c.weight > 0 and levels.get(c.model, Level.HEALTHY) not in SHUT]


def _healthy(tier: Sequence[RouteCandidate], levels: Mapping[str, Level]) -> list[RouteCandidate]:
    return [c for c in tier if levels.get(c.model) is not Level.REDUCED]


def _in_proportion(candidates: Sequence[RouteCandidate], part: float) -> dict[str, float]:
    weight = sum(candidate.weight for candidate in candidates)
    return {candidate.model: part * (candidate.weight / weight) for candidate in candidates}

"""Which model answers next: one draw among those that may take traffic and were not tried.

Decides; chance is handed in.
In:  the route, the level of every model, what was tried.
Out: a model's name, or None when nobody may take traffic.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from random import Random
from types import MappingProxyType

from breaker.levels import Level
from router.topology import Candidate

Shares = Callable[[Sequence[Candidate], Mapping[str, Level]], Mapping[str, float]]


def choose(
    candidates: Sequence[Candidate],
    levels: Mapping[str, Level],
    *,
    tried: Collection[str],
    shares: Shares,
    rng: Random,
    failed_tiers: Collection[int] = (),
) -> str | None:
    """Draw one untried candidate with chance in proportion to its share.

    `failed_tiers`: priorities to leave alone as long as a candidate of another priority may take traffic.
    """
    # Shares are taken of the untried alone: when the best tier has failed, the next tier's share is no longer zero.
    left = [c for c in candidates if c.model not in tried]
    elsewhere = [c for c in left if c.priority not in failed_tiers]
    for pool in (elsewhere, left) if failed_tiers else (left,):
        able = [(name, share) for name, share in shares(pool, levels).items() if share > 0]
        if len(able) == 1:
            return able[0][0]
        if able:
            return rng.choices([name for name, _ in able], weights=[share for _, share in able])[0]
    return None


def remembered(shares: Shares) -> Shares:
    """The same shares, worked out once for each standing of a route: levels move by the minute, requests come by the hundred."""

    @lru_cache(maxsize=1024)
    def known(candidates: tuple[Candidate, ...], standing: tuple[Level | None, ...]) -> Mapping[str, float]:
        levels = {c.model: level for c, level in zip(candidates, standing, strict=True) if level is not None}
        return MappingProxyType(dict(shares(candidates, levels)))

    def asked(candidates: Sequence[Candidate], levels: Mapping[str, Level]) -> Mapping[str, float]:
        return known(tuple(candidates), tuple(levels.get(c.model) for c in candidates))

    return asked

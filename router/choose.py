"""Which model answers next: one draw among those that may take traffic and were not tried.

Decides; chance is handed in.
In:  the route, the level of every model, what was tried.
Out: a model's name, or None when nobody may take traffic.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random

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
) -> str | None:
    """Draw one untried candidate with chance in proportion to its share."""
    # Shares are taken of the untried alone: when the best tier has failed, the next tier's share is no longer zero.
    left = [c for c in candidates if c.model not in tried]
    if not left:
        return None
    able = [(name, share) for name, share in shares(left, levels).items() if share > 0]
    if not able:
        return None
    if len(able) == 1:
        return able[0][0]
    return rng.choices([name for name, _ in able], weights=[share for _, share in able])[0]

"""Which model answers next: one draw among those that may take traffic and were not tried.

Decides; chance is handed in.
In:  the route, the level of every model, what was tried.
Out: a model's name, or None when nobody may take traffic.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random

from base.ids import short_hash
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
    session: str | None = None,
) -> str | None:
    """Draw one untried candidate with chance in proportion to its share.

    `failed_tiers`: priorities to leave alone as long as a candidate of another priority may take traffic.
    `session`: the draw is this session's own, the same each time while shares stay (affinity); None: by chance.
    """
    # Shares are taken of the untried alone: when the best tier has failed, the next tier's share is no longer zero.
    left = [c for c in candidates if c.model not in tried]
    elsewhere = [c for c in left if c.priority not in failed_tiers]
    for pool in (elsewhere, left) if failed_tiers else (left,):
        able = [(name, share) for name, share in shares(pool, levels).items() if share > 0]
        if len(able) == 1:
            return able[0][0]
        if able and session is not None:
            return stuck_to(session, able)
        if able:
            return rng.choices([name for name, _ in able], weights=[share for _, share in able])[0]
    return None


def stuck_to(session: str, able: Sequence[tuple[str, float]]) -> str:
    """The session's model among those that may take traffic, by weighted rendezvous hashing.

    Over many sessions each model gets its share. When a share falls or a model goes, only sessions of that model move,
    to the others in proportion; when it comes back they return (Thaler and Ravishankar 1998; weights: -w / ln h).
    """

    def score(model: str, share: float) -> float:
        drawn = (int(short_hash(session, model), 16) + 0.5) / 2**64  # uniform in (0, 1)
        return -share / math.log(drawn)

    return max(able, key=lambda one: (score(*one), one[0]))[0]

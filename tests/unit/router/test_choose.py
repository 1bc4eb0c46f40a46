"""One draw among those that may take traffic."""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from breaker.levels import Level
from breaker.share import shares
from router.choose import choose
from router.topology import Candidate


def draw(candidates: Sequence[Candidate], levels: Mapping[str, Level], tried: set[str], times: int = 1) -> Counter[str]:
    rng = Random(7)
    drawn = [choose(candidates, levels, tried=tried, shares=shares, rng=rng) for _ in range(times)]
    return Counter(str(d) for d in drawn)


ZERO_FIRST = [
    Candidate(model="none", weight=0),
    Candidate(model="one", weight=1),
    Candidate(model="three", weight=3),
]


def test_weights_hold_whatever_the_order_and_a_weight_of_zero_is_never_drawn() -> None:
    for order in (ZERO_FIRST, ZERO_FIRST[::-1]):
        drawn = draw(order, {}, set(), 4000)
        assert drawn["none"] == 0
        assert 0.70 < drawn["three"] / 4000 < 0.80


def test_a_tried_model_is_never_drawn_again() -> None:
    assert draw(ZERO_FIRST, {}, {"three"}, 50) == {"one": 50}


def test_a_saturated_tier_gives_way_to_the_lower_one() -> None:
    tiers = [Candidate(model="high", weight=1, priority=0), Candidate(model="low", weight=1, priority=1)]
    assert draw(tiers, {}, set(), 20) == {"high": 20}
    assert draw(tiers, {}, {"high"}, 20) == {"low": 20}


def test_nobody_is_drawn_when_all_are_open() -> None:
    assert draw([Candidate(model="a", weight=1)], {"a": Level.OPEN}, set()) == {"None": 1}

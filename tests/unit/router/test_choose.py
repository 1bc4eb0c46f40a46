"""One draw among those that may take traffic."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from breaker.levels import Level
from breaker.share import shares
from router.choose import choose
from router.topology import Candidate, Route, Topology
from tests.support.router_world import World, down


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


async def test_a_large_failing_tier_leaves_the_last_change_of_model_to_the_lower_tier() -> None:
    tier = [Candidate(model=m, weight=1, priority=int(m == "d")) for m in "abcd"]
    world = World({m: [down()] for m in "abc"}, names="abcd", spares=())
    world.deps.topology = Topology(
        models=world.deps.topology.models, routes={"main": Route(name="main", candidates=tuple(tier))}
    )
    for _ in range(10):
        world.models.asked.clear()
        response = await world.ask()
        assert response.headers["x-pointsman-model"] == "d"
        assert len(set(world.asked)) == len(world.asked) == 3


def test_failed_tiers_are_drawn_from_when_no_other_tier_can_take_traffic() -> None:
    tiers = [Candidate(model=m, weight=1, priority=p) for m, p in (("a", 0), ("b", 0), ("c", 1))]
    rng = Random(1)
    assert choose(tiers, {"c": Level.OPEN}, tried={"a"}, shares=shares, rng=rng, failed_tiers={0}) == "b"
    assert choose(tiers, {}, tried={"a"}, shares=shares, rng=rng, failed_tiers={0}) == "c"


def stuck(sessions: range, levels: dict[str, Level]) -> dict[int, str | None]:
    candidates = [Candidate(model="a", weight=3), Candidate(model="b", weight=1), Candidate(model="c", weight=1)]
    rng = Random(1)
    return {
        session: choose(candidates, levels, tried=(), shares=shares, rng=rng, session=f"s{session}")
        for session in sessions
    }


def test_a_session_stays_with_its_model_and_sessions_spread_by_weight() -> None:
    drawn = stuck(range(5_000), {})
    assert stuck(range(5_000), {}) == drawn
    counts = Counter(drawn.values())
    # 3000 of 5000 expected, standard deviation 35: five of them.
    assert abs(counts["a"] - 3_000) < 175
    assert abs(counts["b"] - 1_000) < 145


def test_only_a_sick_models_sessions_move_and_they_return() -> None:
    before = stuck(range(2_000), {})
    open_b = stuck(range(2_000), {"b": Level.OPEN})
    assert "b" not in open_b.values()
    assert all(before[s] == "b" for s in before if open_b[s] != before[s])
    assert stuck(range(2_000), {"b": Level.HEALTHY}) == before


def test_a_model_that_failed_in_this_request_is_left_whatever_the_session() -> None:
    candidates = [Candidate(model="a", weight=1), Candidate(model="b", weight=1)]
    for session in ("s1", "s2", "s3", "s4"):
        drawn = choose(candidates, {}, tried=("a",), shares=shares, rng=Random(1), session=session)
        assert drawn == "b"


TOOLS = {"tools": [{"type": "function", "function": {"name": "f"}}]}


def _with_tools(*able: str) -> World:
    world = World(names=("a", "b"), spares=())
    old = world.deps.topology
    models = {
        name: replace(model, capabilities=frozenset({"tools"} if name in able else ()))
        for name, model in old.models.items()
    }
    world.deps.topology = Topology(models=models, routes=old.routes)
    return world


@pytest.mark.parametrize(
    ("able", "fields", "answers"),
    [
        pytest.param("b", TOOLS, "b", id="the one that can, though another stands before it"),
        pytest.param("b", {}, "a", id="without tools the order holds"),
        pytest.param("", TOOLS, "a", id="where nobody declares them, all are asked as before"),
    ],
)
async def test_a_call_with_tools_goes_to_a_model_that_declares_them(
    able: str, fields: dict[str, object], answers: str
) -> None:
    assert (await _with_tools(*able).ask(**fields)).headers["x-pointsman-model"] == answers

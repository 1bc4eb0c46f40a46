"""Affinity of a route: a session stays with its model, and nobody else's draw changes."""

from collections import Counter
from dataclasses import replace

from breaker.levels import Level
from router.drawing import draw
from router.rests import Rests
from router.topology import Candidate, Route
from tests.support.router_world import World

ROUTE = Route(name="main", candidates=tuple(Candidate(model=n, weight=1) for n in ("a", "b", "c")))


def drawn(
    world: World, route: Route, session: str, levels: dict[str, Level] | None = None, times: int = 30
) -> set[str]:
    found = [draw(world.deps, route, [], levels or {}, session) for _ in range(times)]
    return {model.name for model, _ in (one for one in found if one is not None)}


def test_without_affinity_sessions_meet_every_model() -> None:
    assert drawn(World(), ROUTE, "s1", times=100) == {"a", "b", "c"}


def test_with_affinity_a_session_stays_and_leaves_a_sick_model_at_once() -> None:
    world, sticky = World(), replace(ROUTE, affinity=True)
    (home,) = drawn(world, sticky, "s1")
    (refuge,) = drawn(world, sticky, "s1", {home: Level.OPEN})
    assert refuge != home
    assert drawn(world, sticky, "s1") == {home}


def test_sessions_of_a_sticky_route_spread() -> None:
    world, sticky = World(), replace(ROUTE, affinity=True)
    homes = Counter(next(iter(drawn(world, sticky, f"s{n}", times=1))) for n in range(300))
    assert all(60 < homes[model] < 140 for model in ("a", "b", "c"))


def test_a_model_whose_endpoints_rest_is_passed_over() -> None:
    world, sticky = World(), replace(ROUTE, affinity=True)
    (home,) = drawn(world, sticky, "s1")
    for endpoint in range(2):
        world.deps.rests.rest(home, endpoint, world.clock.now_s() + 60)
    (refuge,) = drawn(world, sticky, "s1")
    assert refuge != home


def test_a_shorter_wait_that_comes_late_does_not_shorten_a_rest() -> None:
    rests = Rests()
    rests.rest("a", 0, 300.0)
    rests.rest("a", 0, 20.0)
    assert rests.until("a", 0) == 300.0
    rests.rest("a", 0, 400.0)
    assert (rests.until("a", 0), rests.until("a", 1)) == (400.0, 0.0)

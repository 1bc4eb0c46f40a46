"""Endpoints that rest: known to the whole fleet, never shortened, and over when they answer or are mended."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from base.faults import Fault
from breaker.ports import StoreUnavailable
from router.rests import FORGOTTEN_S, Rest, RestReason, Rests, mark_of, stronger
from router.topology import Model, Topology
from tests.support.router_world import Says, World, down
from upstream.call import Endpoint

ONE = Endpoint(base_url="http://one/v1", upstream_model="x", api_key="k1")
TWO = Endpoint(base_url="http://two/v1", upstream_model="x", api_key="k1")
NOW = 1_000.0


class Shelf:
    """What Redis does: the last write of a field stands."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Rest] = {}
        self.puts = 0
        self.away = False

    async def load(self) -> Sequence[Rest]:
        if self.away:
            raise StoreUnavailable("away")
        return list(self.kept.values())

    async def put(self, rests: Sequence[Rest]) -> None:
        self.puts += 1
        self.kept |= {(rest.model, rest.mark): rest for rest in rests}


def topology(*endpoints: Endpoint) -> Topology:
    return Topology(models={"m": Model(name="m", vendor="v", endpoints=endpoints)}, routes={})


def knowing(*endpoints: Endpoint) -> Rests:
    rests = Rests()
    rests.know(topology(*(endpoints or (ONE, TWO))))
    return rests


async def test_a_rest_is_known_to_every_replica_with_its_next_look() -> None:
    shelf, here, there = Shelf(), knowing(), knowing()
    here.rest("m", 1, NOW + 60)
    assert there.until("m", 1) == 0.0
    await here.exchange(shelf, NOW)
    await there.exchange(shelf, NOW)
    assert (there.until("m", 1), there.until("m", 0)) == (NOW + 60, 0.0)
    puts = shelf.puts
    await here.exchange(shelf, NOW)
    await there.exchange(shelf, NOW)
    assert shelf.puts == puts, "what is known is not written again"


async def test_of_two_waits_written_at_once_the_longer_one_stands_in_the_end() -> None:
    shelf, here, there = Shelf(), knowing(), knowing()
    here.rest("m", 0, NOW + 600)
    there.rest("m", 0, NOW + 10)
    await here.exchange(shelf, NOW)
    shelf.kept["m", mark_of(ONE)] = replace(shelf.kept["m", mark_of(ONE)], until=NOW + 10)  # overwritten
    for rests in (here, there):
        await rests.exchange(shelf, NOW + 1)
    assert (here.until("m", 0), there.until("m", 0)) == (NOW + 600, NOW + 600)


async def test_a_store_that_is_gone_or_comes_back_empty_costs_no_rest() -> None:
    shelf, here = Shelf(), knowing()
    here.rest("m", 0, NOW + 60)
    shelf.away = True
    with pytest.raises(StoreUnavailable):
        await here.exchange(shelf, NOW)
    assert here.until("m", 0) == NOW + 60
    shelf.away = False
    await here.exchange(shelf, NOW)
    shelf.kept.clear()
    await here.exchange(shelf, NOW)
    assert len(shelf.kept) == 1


async def test_an_endpoint_that_refuses_us_is_told_until_it_answers_anybody_of_the_fleet() -> None:
    shelf, here, there = Shelf(), knowing(), knowing()
    here.rest("m", 0, NOW + 300, reason=RestReason.FORBIDDEN, at=NOW, status=401)
    await here.exchange(shelf, NOW)
    await there.exchange(shelf, NOW)
    (told,) = there.forbidden()
    assert (told.model, told.endpoint, told.status, told.others) == ("m", 0, 401, 1)
    await there.exchange(shelf, NOW + 3_000)
    assert there.forbidden(), "the rest is over, nobody has been let in since"
    there.answered("m", 0, NOW - 1)
    assert there.forbidden(), "it was asked before the refusal"
    there.answered("m", 0, NOW + 301)
    await there.exchange(shelf, NOW + 3_001)
    await here.exchange(shelf, NOW + 3_001)
    assert (here.forbidden(), here.until("m", 0) <= NOW + 301) == ((), True)
    here.rest("m", 0, NOW + 4_000, reason=RestReason.FORBIDDEN, at=NOW + 3_700, status=402)
    assert [one.status for one in here.forbidden()] == [402]
    await here.exchange(shelf, NOW + 3_700 + FORGOTTEN_S)
    assert here.forbidden() == ()


async def test_a_mended_key_is_another_endpoint_and_does_not_rest() -> None:
    shelf, rests = Shelf(), knowing()
    rests.rest("m", 0, NOW + 300, reason=RestReason.FORBIDDEN, at=NOW, status=401)
    await rests.exchange(shelf, NOW)
    rests.know(topology(replace(ONE, api_key="k2"), TWO))
    assert (rests.until("m", 0), rests.forbidden()) == (0.0, ())
    started_anew = knowing(TWO, ONE)  # in another order, the old key still in the file
    await started_anew.exchange(shelf, NOW)
    assert [(one.endpoint, one.others) for one in started_anew.forbidden()] == [(1, 1)]


def test_a_mark_tells_nothing_of_the_key() -> None:
    assert "k1" not in mark_of(ONE)
    assert len({mark_of(ONE), mark_of(TWO), mark_of(replace(ONE, api_key="k2"))}) == 3


def test_that_it_answers_again_ends_only_what_was_said_before() -> None:
    said = Rest(model="m", mark="x", reason=RestReason.FORBIDDEN, until=900.0, at=600.0)
    over = replace(said, reason=RestReason.OVER, until=700.0, at=700.0)
    assert stronger(said, over) == stronger(over, said) == over
    later = replace(said, at=800.0)
    assert stronger(later, over) == stronger(over, later) == later
    limited = replace(said, reason=RestReason.RATE_LIMITED, until=1_500.0)
    assert stronger(said, limited) == stronger(limited, said) == replace(said, until=1_500.0)


async def test_what_attempts_are_told_reaches_the_rests_and_a_good_reply_ends_a_refusal() -> None:
    refused, busy = down(Fault.FORBIDDEN), down(Fault.RATE_LIMITED, retry_after_s=7.0)
    world = World({"a": [refused, Says()], "b": [busy]}, names=("a", "b"), spares=())
    world.deps.rests.know(world.deps.topology)
    await world.ask()
    rests, now_s = world.deps.rests, world.clock.now_s()
    assert [(one.model, one.others) for one in rests.forbidden()] == [("a", 0)]
    assert (rests.until("a", 0), rests.until("b", 0)) == (now_s + 300, now_s + 7)
    world.clock.tick(301)
    assert (await world.ask()).headers["x-pointsman-model"] == "a"
    assert rests.forbidden() == ()


async def test_an_operators_reset_ends_the_rests_of_a_model_for_the_fleet() -> None:
    shelf, here, there = Shelf(), Rests(), Rests()
    for rests in (here, there):
        rests.know(topology(ONE, TWO))
    for at in (0, 1):
        here.rest("m", at, NOW + 300.0, reason=RestReason.FORBIDDEN, at=NOW, status=401)
    for rests in (here, there):
        await rests.exchange(shelf, NOW + 1)
    assert (here.refused(), there.refused()) == ({"m"}, {"m"})
    here.lift("m", NOW + 20.0)
    for rests in (here, there):
        await rests.exchange(shelf, NOW + 21)
    assert (here.refused(), there.refused()) == (frozenset(), frozenset())
    assert max(there.until("m", at) for at in (0, 1)) <= NOW + 20.0


def test_resting_endpoints_are_told_until_they_are_asked_again_and_refusals_longer() -> None:
    rests = Rests()
    rests.know(topology(ONE, TWO))
    rests.rest("m", 0, NOW + 300.0, reason=RestReason.FORBIDDEN, at=NOW, status=401)
    rests.rest("m", 1, NOW + 30.0, at=NOW, status=429)

    def told(now_s: float) -> list[tuple[int, str, int, float]]:
        return [(one.endpoint, one.reason.value, one.status, one.until) for one in rests.resting(now_s)]

    refused, waits = (0, "forbidden", 401, NOW + 300.0), (1, "rate_limited", 429, NOW + 30.0)
    assert told(NOW + 1) == [refused, waits]
    assert told(NOW + 31) == [refused]
    assert told(NOW + 301) == [refused], "nobody has asked it since"
    rests.answered("m", 0, NOW + 302)
    assert told(NOW + 303) == []
    rests.rest("m", 1, NOW + 900.0, at=NOW, status=429)
    rests.know(topology(ONE))
    assert told(NOW + 310) == [], "an endpoint that the settings no longer have"

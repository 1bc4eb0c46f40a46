"""What the fleet knows of endpoints that rest, in Valkey and in a cluster."""

import pytest

from router.rests import FORGOTTEN_S, Rest, RestReason, Rests
from router.topology import Model, Topology
from store.redis_link import RedisLink
from store.redis_rests import KEY, RedisRests
from tests.support.clock import ManualClock
from upstream.call import Endpoint

ENDPOINT = Endpoint(base_url="http://one/v1", upstream_model="x", api_key="k1")
TOPOLOGY = Topology(models={"m|1": Model(name="m|1", vendor="v", endpoints=(ENDPOINT,))}, routes={})


@pytest.fixture(params=["one server", "cluster"])
def shared(request: pytest.FixtureRequest) -> RedisLink:
    found: RedisLink = request.getfixturevalue("link" if request.param == "one server" else "cluster_link")
    return found


async def test_two_replicas_know_the_same_rests_and_the_store_forgets_those_that_are_over(
    shared: RedisLink, clock: ManualClock
) -> None:
    store, here, there = RedisRests(shared, clock), Rests(), Rests()
    for rests in (here, there):
        rests.know(TOPOLOGY)
    now_s = clock.now_s()
    here.rest("m|1", 0, now_s + 60)
    await here.exchange(store, now_s)
    await there.exchange(store, now_s)
    assert there.until("m|1", 0) == now_s + 60
    clock.tick(61)
    assert await store.load() == []
    assert await shared.ask(lambda client: client.hlen(KEY)) == 0
    here.rest("m|1", 0, clock.now_s() + 300, reason=RestReason.FORBIDDEN, at=clock.now_s(), status=404)
    await here.exchange(store, clock.now_s())
    (kept,) = await store.load()
    assert (kept.reason, kept.status, isinstance(kept, Rest)) == (RestReason.FORBIDDEN, 404, True)
    assert "k1" not in str(kept)
    assert 0 < await shared.ask(lambda client: client.pttl(KEY)) <= 2 * FORGOTTEN_S * 1_000


async def test_a_record_that_cannot_be_read_goes_and_takes_no_other_with_it(
    shared: RedisLink, clock: ManualClock
) -> None:
    store, rests = RedisRests(shared, clock), Rests()
    rests.know(TOPOLOGY)
    rests.rest("m|1", 0, clock.now_s() + 60)
    await shared.ask(lambda client: client.hset(KEY, "x|y", "no record"))
    await rests.exchange(store, clock.now_s())
    assert len(await store.load()) == 1
    assert await shared.ask(lambda client: client.hlen(KEY)) == 1

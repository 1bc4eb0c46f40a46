"""What workers tell each other of their apps' spending, over Valkey and a cluster."""

import pytest

from breaker.ports import StoreUnavailable
from router.auth import Caller
from router.limits import Limits
from router.load import Load
from router.ports import Spent
from router.spend import exchange
from router.topology import Model
from store.redis_link import RedisLink, connect
from store.redis_spend import LIVE_S, RedisSpend
from tests.support.clock import ManualClock

SPENT = {"车载": Spent(requests=3, tokens=40.5, requests_left=7.0, tokens_left=-2.0)}


@pytest.fixture(params=["one server", "cluster"])
def shared(request: pytest.FixtureRequest) -> RedisLink:
    found: RedisLink = request.getfixturevalue("link" if request.param == "one server" else "cluster_link")
    return found


async def test_each_worker_hears_the_others_and_not_itself(shared: RedisLink, clock: ManualClock) -> None:
    one, other = (RedisSpend(shared, clock, boot) for boot in ("one", "other"))
    assert await one.exchange(SPENT) == {}
    assert await other.exchange({}) == {"one": SPENT}
    assert await one.exchange({}) == {"other": {}}


async def test_a_worker_that_went_silent_is_not_heard_any_more(link: RedisLink, clock: ManualClock) -> None:
    await RedisSpend(link, clock, "one").exchange(SPENT)
    clock.tick(LIVE_S + 1)
    assert await RedisSpend(link, clock, "other").exchange({}) == {}


async def test_two_workers_share_one_limit(link: RedisLink, clock: ManualClock) -> None:
    caller = Caller(app="car", per_minute=4)
    one, other = Limits(), Limits()
    for _ in range(3):
        one.admit(caller, 0, clock.monotonic_s())
    await exchange(one, Load(), RedisSpend(link, clock, "one"), clock)
    await exchange(other, Load(), RedisSpend(link, clock, "other"), clock)
    admission = other.admit(caller, 0, clock.monotonic_s())
    assert admission is not None
    assert dict(admission.headers())[b"x-ratelimit-remaining-requests"] == b"0"


async def test_each_process_has_its_part_of_a_models_places(shared: RedisLink, clock: ManualClock) -> None:
    model = Model(name="b", vendor="v", endpoints=(), max_concurrent=9)
    loads = {boot: Load() for boot in ("one", "two", "three")}

    async def all_exchange(*boots: str) -> dict[str, int | None]:
        for _ in range(2):
            for boot in boots:
                await exchange(Limits(), loads[boot], RedisSpend(shared, clock, boot), clock)
        return {boot: loads[boot].places(model) for boot in boots}

    assert await all_exchange("one") == {"one": 9}
    assert await all_exchange("one", "two", "three") == {"one": 3, "two": 3, "three": 3}
    clock.tick(LIVE_S + 1)  # the third is gone: its part falls to the others
    assert await all_exchange("one", "two") == {"one": 4, "two": 4}


async def test_a_server_that_is_gone_is_told_as_such(clock: ManualClock) -> None:
    link = RedisLink(connect("redis://127.0.0.1:1/0"), clock)
    with pytest.raises(StoreUnavailable):
        await RedisSpend(link, clock, "one").exchange(SPENT)
    load = Load()
    load.heard(2)
    with pytest.raises(StoreUnavailable):
        await exchange(Limits(), load, RedisSpend(link, clock, "one"), clock)
    assert load.places(Model(name="b", vendor="v", endpoints=(), max_concurrent=9)) == 3, "the last count stands"
    await link.close()

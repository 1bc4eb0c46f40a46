"""The port Lease over memory, Redis and a cluster of three."""

import pytest

from breaker.ports import Lease
from store.memory import MemoryLease
from store.redis_states import RedisLease
from tests.support.clock import ManualClock

LINKS = {"redis": "link", "cluster": "cluster_link"}


@pytest.fixture(params=["memory", "redis", "cluster"])
def lease(request: pytest.FixtureRequest, clock: ManualClock) -> MemoryLease | RedisLease:
    return (
        MemoryLease(clock)
        if request.param == "memory"
        else RedisLease(request.getfixturevalue(LINKS[request.param]), clock)
    )


async def test_one_owner_holds_and_renews_under_one_fence(lease: Lease, clock: ManualClock) -> None:
    fence = await lease.hold("leader", "p1", 5.0)
    assert fence is not None
    assert await lease.hold("leader", "p2", 5.0) is None
    clock.tick(4)
    assert await lease.hold("leader", "p1", 5.0) == fence
    clock.tick(4)
    assert await lease.hold("leader", "p2", 5.0) is None


async def test_the_fence_grows_at_each_take_over(lease: Lease, clock: ManualClock) -> None:
    first = await lease.hold("leader", "p1", 5.0)
    clock.tick(5.1)
    second = await lease.hold("leader", "p2", 5.0)
    await lease.release("leader", "p2")
    third = await lease.hold("leader", "p1", 5.0)
    assert first is not None and second is not None and third is not None
    assert first < second < third


async def test_only_the_owner_releases(lease: Lease) -> None:
    await lease.hold("leader", "p1", 5.0)
    await lease.release("leader", "p2")
    assert await lease.hold("leader", "p2", 5.0) is None
    await lease.release("leader", "p1")
    assert await lease.hold("leader", "p2", 5.0) is not None


async def test_names_are_apart(lease: Lease) -> None:
    assert await lease.hold("leader", "p1", 5.0) is not None
    assert await lease.hold("evaluator", "p2", 5.0) is not None


async def test_anybody_can_see_whether_it_is_held(lease: MemoryLease | RedisLease, clock: ManualClock) -> None:
    assert not await lease.held("leader")
    await lease.hold("leader", "p1", 5.0)
    assert await lease.held("leader")
    clock.tick(5.1)
    assert not await lease.held("leader")

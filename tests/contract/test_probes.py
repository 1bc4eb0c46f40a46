"""The port ProbeStore over memory, Redis and a cluster of three."""

import asyncio

import pytest

from breaker.ports import ProbeStore, ProbeTally
from store.memory import MemoryProbes
from store.redis_link import RedisLink
from store.redis_states import RedisProbes
from tests.support.clock import ManualClock

LINKS = {"redis": "link", "cluster": "cluster_link"}


@pytest.fixture(params=["memory", "redis", "cluster"])
def probes(request: pytest.FixtureRequest, clock: ManualClock) -> ProbeStore:
    if request.param == "memory":
        return MemoryProbes(clock)
    return RedisProbes(request.getfixturevalue(LINKS[request.param]), clock)


async def test_thirty_of_a_hundred_asked_at_once_are_granted(probes: ProbeStore) -> None:
    """Scenario 23."""
    granted = await asyncio.gather(*(probes.lease("a", 7, 1, 30, 60.0) for _ in range(100)))
    assert sum(granted) == 30
    assert await probes.tally("a", 7) == ProbeTally(epoch=7, granted=30)


async def test_the_last_lease_is_cut_to_what_is_left(probes: ProbeStore) -> None:
    assert await probes.lease("a", 1, 2, 3, 60.0) == 2
    assert await probes.lease("a", 1, 2, 3, 60.0) == 1
    assert await probes.lease("a", 1, 2, 3, 60.0) == 0


async def test_what_is_given_back_can_be_leased_again(probes: ProbeStore) -> None:
    assert await probes.lease("a", 1, 2, 2, 60.0) == 2
    await probes.give_back("a", 1, 1)
    assert await probes.lease("a", 1, 2, 2, 60.0) == 1


async def test_leases_of_a_dead_process_return(probes: ProbeStore, clock: ManualClock) -> None:
    assert await probes.lease("a", 1, 2, 2, 60.0) == 2
    clock.tick(59)
    assert await probes.lease("a", 1, 2, 2, 60.0) == 0
    clock.tick(2)
    assert await probes.lease("a", 1, 2, 2, 60.0) == 2


async def test_results_are_kept_in_order_and_use_the_budget_up(probes: ProbeStore) -> None:
    await probes.lease("a", 1, 3, 3, 60.0)
    for clean in (True, False, True):
        await probes.settle("a", 1, clean)
    assert await probes.tally("a", 1) == ProbeTally(epoch=1, granted=3, results=(True, False, True))
    assert await probes.lease("a", 1, 1, 3, 60.0) == 0


async def test_an_older_epoch_is_no_probe_result(probes: ProbeStore) -> None:
    await probes.lease("a", 1, 2, 30, 60.0)
    await probes.settle("a", 1, False)
    assert await probes.lease("a", 2, 1, 30, 60.0) == 1
    await probes.settle("a", 1, False)
    await probes.give_back("a", 1, 1)
    assert await probes.lease("a", 1, 1, 30, 60.0) == 0
    assert await probes.tally("a", 2) == ProbeTally(epoch=2, granted=1)
    assert await probes.tally("a", 1) == ProbeTally(epoch=1, granted=0)


async def test_without_a_lease_there_is_nothing_to_settle(probes: ProbeStore) -> None:
    await probes.settle("a", 1, True)
    await probes.give_back("a", 1, 1)
    assert await probes.tally("a", 1) == ProbeTally(epoch=1, granted=0)


async def test_a_budget_that_nobody_renewed_kept_a_fleet_that_lost_its_documents_from_probing_for_two_hours(
    link: RedisLink, clock: ManualClock
) -> None:
    """Every process and the copies on disk are gone, the documents too: epochs begin anew, far below that of the budget."""
    probes = RedisProbes(link, clock)
    key = "{state}:probe:a"
    assert await probes.lease("a", 40, 1, 30, 60.0) == 1
    lapses_ms = await link.ask(lambda client: client.pttl(key))
    assert 0 < lapses_ms <= 600_000
    await link.ask(lambda client: client.pexpire(key, 5_000))
    assert await probes.lease("a", 2, 1, 30, 60.0) == 0
    assert await link.ask(lambda client: client.pttl(key)) <= 5_000, "who asks in vain does not put it off"
    await probes.settle("a", 40, True)
    assert await link.ask(lambda client: client.pttl(key)) > 5_000, "who is at it does"
    await link.ask(lambda client: client.pexpire(key, 0))
    assert await probes.lease("a", 2, 1, 30, 60.0) == 1


async def test_a_lease_is_not_forgotten_before_its_end(link: RedisLink, clock: ManualClock) -> None:
    probes = RedisProbes(link, clock)
    assert await probes.lease("a", 1, 1, 1, 3_600.0) == 1
    await probes.settle("a", 1, True)
    assert await link.ask(lambda client: client.pttl("{state}:probe:a")) > 3_000_000

"""The breaker's scenario files on three replicas: over memory and over Redis the transitions are those of the pure machine."""

from pathlib import Path

import pytest

from breaker.simulation import START_S, told_plainly
from store.memory import MemoryCounts, MemoryLease, MemoryProbes, MemoryStates
from store.redis_link import RedisLink
from store.redis_states import RedisLease, RedisProbes, RedisStates
from store.redis_windows import RedisCounts
from tests.support import replicas, scenarios
from tests.support.clock import ManualClock
from tests.support.replicas import Stores

FILES = sorted(scenarios.HERE.glob("*.yaml"))


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> tuple[Stores, ManualClock]:
    clock = ManualClock(START_S)
    if request.param == "memory":
        kept = Stores(
            counts=MemoryCounts(clock), states=MemoryStates(), probes=MemoryProbes(clock), lease=MemoryLease(clock)
        )
        return kept, clock
    link: RedisLink = request.getfixturevalue("link")
    return (
        Stores(
            counts=RedisCounts(link, clock),
            states=RedisStates(link),
            probes=RedisProbes(link, clock),
            lease=RedisLease(link, clock),
        ),
        clock,
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_three_replicas_tell_the_story_of(path: Path, world: tuple[Stores, ManualClock]) -> None:
    scenario = scenarios.load(path)

    fleet = await replicas.run(scenario, *world)

    assert told_plainly(fleet.told) == scenario["expect"]
    assert len({document.epoch for document in fleet.documents}) == 1
    assert fleet.documents[0].level.value == scenario["end"]["level"]

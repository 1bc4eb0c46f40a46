"""The port StateStore over memory, Redis and a cluster of three."""

import asyncio
from pathlib import Path

import pytest

from breaker.levels import Level, Reason
from breaker.ports import StateStore
from breaker.snapshot import Snapshot, Transition
from store.memory import MemoryStates
from store.redis_states import RedisStates
from store.state_file import BackedStates


@pytest.fixture(params=["memory", "redis", "redis with a copy on disk", "cluster"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> StateStore:
    if request.param == "memory":
        return MemoryStates()
    redis = RedisStates(request.getfixturevalue("cluster_link" if request.param == "cluster" else "link"))
    return BackedStates(redis, tmp_path / "states.json") if "disk" in request.param else redis


def full(epoch: int = 1) -> Snapshot:
    move = Transition(
        model="a", epoch=epoch, at=1_700_000_000.25, from_level=Level.HEALTHY, to_level=Level.OPEN,
        reasons=(Reason.ROLLING_15M,), numbers=(("ratio", 0.3), ("n", 40.0)), note="半小时",
    )  # fmt: skip
    return Snapshot(
        model="a", epoch=epoch, level=Level.OPEN, since=1_700_000_000.25, reasons=(Reason.ROLLING_15M,),
        would_be=Level.WARN, transitions=(move,), open_count=2,
    )  # fmt: skip


async def test_what_was_stored_is_loaded_whole(states: StateStore) -> None:
    assert await states.load(["a", "b"]) == {}
    assert await states.compare_and_set(full(), 0)
    assert await states.load(["b", "a"]) == {"a": full()}
    assert await states.load([]) == {}


async def test_only_the_expected_epoch_is_overwritten(states: StateStore) -> None:
    assert await states.compare_and_set(full(1), 0)
    assert not await states.compare_and_set(full(1), 0)
    assert not await states.compare_and_set(full(3), 2)
    assert await states.compare_and_set(full(2), 1)
    assert (await states.load(["a"]))["a"].epoch == 2


async def test_one_of_many_racing_writers_wins(states: StateStore) -> None:
    """Scenario 40: two evaluators post the same trip; one epoch bump."""
    won = await asyncio.gather(*(states.compare_and_set(full(1), 0) for _ in range(20)))
    assert sum(won) == 1


async def test_a_lower_fence_is_refused(states: StateStore) -> None:
    assert await states.compare_and_set(Snapshot(model="a", epoch=1, fence=5), 0)
    assert not await states.compare_and_set(Snapshot(model="a", epoch=2, fence=4), 1)
    assert await states.compare_and_set(Snapshot(model="a", epoch=2, fence=5), 1)

"""The port StateStore over memory, Redis and a cluster of three."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from breaker.levels import Level, Reason
from breaker.ports import StateStore
from breaker.snapshot import SCHEMA, Snapshot, Transition
from store.documents import to_json
from store.memory import MemoryStates
from store.redis_link import RedisLink
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


@pytest.mark.parametrize("kind", ["redis", "redis with a copy on disk"])
async def test_a_document_that_cannot_be_read_concerns_its_own_model_alone(
    kind: str, link: RedisLink, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    redis = RedisStates(link)
    states = BackedStates(redis, tmp_path / "states.json") if "disk" in kind else redis
    other = Snapshot(model="b", epoch=1, level=Level.WARN)
    assert await states.compare_and_set(other, 0)
    await link.ask(lambda client: client.set("{state}:doc:a", b"\x00 not a document"))
    for _ in range(2):
        assert await states.load(["a", "b"]) == {"b": other}
    assert caplog.text.count("state of a") == 1, "said once, not each second"
    assert await states.compare_and_set(full(1), 0), "what is no document is as good as gone"
    assert (await states.load(["a"]))["a"] == full(1)


async def test_a_document_of_a_newer_release_is_left_alone_and_never_overwritten(link: RedisLink) -> None:
    states = RedisStates(link)
    newer = replace(full(3), schema=SCHEMA + 1)
    await link.ask(lambda client: client.set("{state}:doc:a", to_json(newer)))
    assert await states.load(["a"]) == {}
    assert not await states.compare_and_set(full(1), 0)
    assert not await states.compare_and_set(full(3), 2)


async def test_an_unchanged_document_is_the_same_object_each_time(link: RedisLink) -> None:
    states = RedisStates(link)
    assert await states.compare_and_set(full(1), 0)
    first = (await states.load(["a"]))["a"]
    assert (await states.load(["a"]))["a"] is first
    assert await states.compare_and_set(full(2), 1)
    assert (await states.load(["a"]))["a"] == full(2)

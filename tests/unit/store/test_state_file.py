"""The copy of the state documents on disk."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from breaker.levels import Level, Mode
from breaker.ports import StoreUnavailable
from breaker.snapshot import Snapshot
from store.memory import MemoryStates
from store.state_file import BackedStates

OPEN = Snapshot(model="a", epoch=7, level=Level.OPEN, mode=Mode.FORCED_OPEN, mode_actor="op")


class Away(MemoryStates):
    """A store that can be away."""

    down = False

    async def load(self, models: Sequence[str]) -> Mapping[str, Snapshot]:
        if self.down:
            raise StoreUnavailable
        return await super().load(models)


async def seen_before(path: Path) -> None:
    states = MemoryStates()
    await states.compare_and_set(OPEN, 0)
    await BackedStates(states, path).load(["a"])


async def test_a_start_without_redis_begins_where_the_fleet_stood_and_then_says_that_redis_is_away(
    tmp_path: Path,
) -> None:
    await seen_before(tmp_path / "states.json")
    inner = Away()
    inner.down = True
    states = BackedStates(inner, tmp_path / "states.json")
    assert await states.load(["a", "b"]) == {"a": OPEN}
    with pytest.raises(StoreUnavailable):
        await states.load(["a", "b"])


async def test_a_document_that_redis_lost_is_rebuilt(tmp_path: Path) -> None:
    await seen_before(tmp_path / "states.json")
    inner = MemoryStates()
    assert await BackedStates(inner, tmp_path / "states.json").load(["a"]) == {"a": OPEN}
    assert await inner.load(["a"]) == {"a": OPEN}


async def test_a_document_that_is_there_wins_over_the_copy(tmp_path: Path) -> None:
    await seen_before(tmp_path / "states.json")
    inner = MemoryStates()
    fresh = Snapshot(model="a", epoch=1)
    await inner.compare_and_set(fresh, 0)
    assert await BackedStates(inner, tmp_path / "states.json").load(["a"]) == {"a": fresh}


async def test_own_writes_are_in_the_copy(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "states.json"
    states = BackedStates(MemoryStates(), path)
    assert await states.compare_and_set(OPEN, 0)
    assert not await states.compare_and_set(Snapshot(model="a", epoch=1), 0)
    assert await BackedStates(MemoryStates(), path).load(["a"]) == {"a": OPEN}
    assert [file.name for file in path.parent.iterdir()] == ["states.json"]


async def test_a_spoilt_copy_is_done_without(tmp_path: Path) -> None:
    path = tmp_path / "states.json"
    path.write_bytes(b"{not json")
    assert await BackedStates(MemoryStates(), path).load(["a"]) == {}


async def test_a_copy_that_cannot_be_written_does_not_stop_the_breaker(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    states = BackedStates(MemoryStates(), tmp_path / "file" / "states.json")
    assert await states.compare_and_set(OPEN, 0)
    assert await states.load(["a"]) == {"a": OPEN}

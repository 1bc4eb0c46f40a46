"""Moves on disk while the database is away."""

from pathlib import Path

import pytest

from breaker.levels import Level, Reason
from breaker.ports import StoreUnavailable
from breaker.snapshot import Transition
from store.memory import MemoryTransitions
from store.spool import Spool
from store.spooled_transitions import RETRY_S, SpooledTransitions
from store.sql_link import RowRefused
from tests.support.clock import ManualClock


class Database(MemoryTransitions):
    """Away or there; may refuse one epoch for good."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.refuses = 0

    async def append(self, transition: Transition) -> bool:
        if self.away:
            raise StoreUnavailable("away")
        if transition.epoch == self.refuses:
            raise RowRefused("no")
        return await super().append(transition)


def move(epoch: int) -> Transition:
    levels = {"from_level": Level.HEALTHY, "to_level": Level.WARN}
    return Transition(model="m", epoch=epoch, at=float(epoch), reasons=(Reason.RATIO_10M,), **levels)


async def test_moves_wait_on_disk_and_come_in_order_when_the_next_one_comes(tmp_path: Path) -> None:
    database = Database()
    log = SpooledTransitions(database, Spool(tmp_path, 10_000))
    database.away = True
    assert await log.append(move(1))
    assert await log.append(move(2))
    assert log.spooled_bytes > 0
    database.away = False
    assert await log.append(move(3))
    assert database.rows == [move(1), move(2), move(3)]
    assert log.spooled_bytes == 0


async def test_moves_outlive_the_process_and_are_kept_once(tmp_path: Path, cancelled: object) -> None:
    database, spool = Database(), Spool(tmp_path, 10_000)
    database.away = True
    await SpooledTransitions(database, spool).append(move(1))
    spool.close()
    database.away = False
    await database.append(move(1))  # another replica back-filled it from the document
    clock, after = ManualClock(), SpooledTransitions(database, Spool(tmp_path, 10_000))
    database.away = True
    cancelled(after.run(clock))  # type: ignore[operator]
    await clock.advance(RETRY_S)
    assert after.spooled_bytes > 0
    database.away = False
    await after.replay()
    assert database.rows == [move(1)]
    assert after.spooled_bytes == 0


async def test_with_disk_and_database_gone_the_breaker_keeps_the_move(tmp_path: Path) -> None:
    database = Database()
    database.away = True
    log = SpooledTransitions(database, Spool(tmp_path, 5))
    with pytest.raises(StoreUnavailable, match="full"):
        await log.append(move(1))
    (tmp_path / "0" / "000000000001.jsonl").symlink_to("/dev/full")
    log = SpooledTransitions(database, Spool(tmp_path / "other", 10_000))
    (tmp_path / "other" / "0" / "000000000001.jsonl").symlink_to("/dev/full")
    with pytest.raises(StoreUnavailable, match="disk is full"):
        await log.append(move(1))


async def test_one_move_the_database_refuses_does_not_hold_up_the_others(tmp_path: Path) -> None:
    database = Database()
    database.away, database.refuses = True, 1
    log = SpooledTransitions(database, Spool(tmp_path, 10_000))
    await log.append(move(1))
    await log.append(move(2))
    database.away = False
    await log.replay()
    assert database.rows == [move(2)]
    assert log.refused == 1
    assert not await log.append(move(1))

"""The writer of the call log on a clock of its own; the tables are tested in tests/contract/."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from breaker.ports import StoreUnavailable
from router.ports import CallRow
from store import sql_queue
from store.spool import Spool
from store.sql_calls import SqlCallLog
from store.sql_link import open_engine
from store.sql_queue import BATCH_ROWS, BATCH_S
from tests.support.clock import ManualClock


def call(number: int) -> CallRow:
    return CallRow(
        request_id=f"pm-{number}", at=1.0, app="", route="", scene="", session="", served_model="", fallback="none",
        status=200, code="", verdict="", loop_class="", attempts=(), metrics={}, stream=False, elapsed_ms=1,
        first_text_ms=None, tokens_in=0, tokens_out=0,
    )  # fmt: skip


class Written(SqlCallLog):
    """Writes into a list; `down` makes each write fail."""

    def __init__(self, queue_rows: int = 10_000) -> None:
        super().__init__(open_engine("sqlite://"), queue_rows=queue_rows)
        self.batches: list[int] = []
        self.tries = 0
        self.down = False

    async def _write(self, batch: Sequence[sql_queue.Row]) -> None:
        self.tries += 1
        if self.down:
            raise StoreUnavailable
        self.batches.append(len(batch))


async def test_rows_are_written_together_every_half_second(cancelled: object) -> None:
    clock, log = ManualClock(), Written()
    cancelled(log.run(clock))  # type: ignore[operator]
    log.add_call(call(1))
    log.add_call(call(2))
    await clock.advance(BATCH_S - 0.1)
    assert log.batches == []
    await clock.advance(0.1)
    assert (log.batches, log.written) == ([2], 2)
    await clock.advance(5.0)
    assert log.tries == 1


async def test_a_long_queue_is_written_in_several_batches() -> None:
    log = Written()
    for number in range(2 * BATCH_ROWS + 1):
        log.add_call(call(number))
    await log.flush()
    assert log.batches == [BATCH_ROWS, BATCH_ROWS, 1]


async def test_a_dead_database_is_asked_less_and_less_often(cancelled: object) -> None:
    clock, log = ManualClock(), Written()
    log.down = True
    log.add_call(call(1))
    cancelled(log.run(clock))  # type: ignore[operator]
    await clock.advance(60.0)
    assert 7 <= log.tries <= 12
    log.down = False
    await clock.advance(10.0)
    assert log.batches == [1]


async def test_what_a_full_queue_loses_is_counted() -> None:
    log = Written(queue_rows=2)
    for number in range(5):
        log.add_call(call(number))
    assert (log.waiting, log.dropped) == (2, 3)


@pytest.mark.parametrize(("down", "dropped"), [(False, 0), (True, 1)], ids=["written at the end", "lost and counted"])
async def test_closing_writes_what_waits(down: bool, dropped: int) -> None:
    log = Written()
    log.down = down
    log.add_call(call(1))
    await log.close()
    assert (log.waiting, log.dropped) == (0, dropped)


class Spooled(Written):
    """Keeps what it writes, with a spool in `folder`."""

    def __init__(self, folder: Path, max_bytes: int = 1_000_000, queue_rows: int = 10_000) -> None:
        SqlCallLog.__init__(self, open_engine("sqlite://"), queue_rows=queue_rows, spool=Spool(folder, max_bytes))
        self.ids: list[str] = []
        self.down = True

    async def _write(self, batch: Sequence[sql_queue.Row]) -> None:
        if self.down:
            raise StoreUnavailable
        self.ids += [values["request_id"] for _, values in batch]

    def leave(self) -> None:
        """The process dies: memory is gone, the folder is free."""
        assert self._spool is not None
        self._spool.close()


async def test_while_the_database_is_away_rows_go_to_disk_and_come_back_in_order(
    tmp_path: Path, cancelled: object
) -> None:
    clock, log = ManualClock(), Spooled(tmp_path)
    cancelled(log.run(clock))  # type: ignore[operator]
    for number in range(3):
        log.add_call(call(number))
        while log.waiting:
            await clock.advance(1.0)
            await asyncio.sleep(0.01)  # the disk is written by a thread
    assert log.spooled_bytes > 0
    log.down = False
    log.add_call(call(3))
    await log.flush()
    assert log.ids == [f"pm-{number}" for number in range(4)]
    assert (log.spooled_bytes, log.dropped, log.written) == (0, 0, 4)


async def test_rows_outlive_the_process(tmp_path: Path) -> None:
    first = Spooled(tmp_path)
    first.add_call(call(1))
    await first.close()
    first.leave()
    after = Spooled(tmp_path)
    after.down = False
    await after.flush()
    assert (after.ids, first.dropped) == (["pm-1"], 0)


async def test_with_the_spool_full_rows_wait_in_memory_and_then_the_newest_are_dropped(tmp_path: Path) -> None:
    log = Spooled(tmp_path, max_bytes=1_000, queue_rows=2)
    for number in range(8):
        log.add_call(call(number))
        await log.spill()
    assert log.dropped > 0
    log.down = False
    kept = 8 - log.dropped
    await log.flush()
    assert log.ids == [f"pm-{number}" for number in range(kept)]


async def test_with_the_disk_full_rows_wait_in_memory(tmp_path: Path) -> None:
    log = Spooled(tmp_path)
    (tmp_path / "0" / "000000000001.jsonl").symlink_to("/dev/full")
    log.add_call(call(1))
    await log.spill()
    assert (log.waiting, log.spool_failures) == (1, 1)
    log.down = False
    await log.flush()
    assert log.ids == ["pm-1"]


async def test_a_record_no_release_can_read_is_counted_and_left_behind(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10_000)
    spool.append([b"{", b'["gone_table",{}]'])
    spool.close()
    log = Spooled(tmp_path)
    log.down = False
    await log.flush()
    assert (log.refused, log.spooled_bytes) == (2, 0)

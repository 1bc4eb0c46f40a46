"""The writer of the call log on a clock of its own; the tables are tested in tests/contract/."""

from collections.abc import Sequence

import pytest

from breaker.ports import StoreUnavailable
from router.ports import CallRow
from store import sql_queue
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

"""The port CallLog over SQLite and PostgreSQL."""

from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.ports import StoreUnavailable
from router.ports import CallRow, FailedReply
from store.sql_calls import SqlCallLog
from tests.support.call_log import Written

CALL = CallRow(
    request_id="pm-1", at=1_700_000_000.5, app="car", route="chat", scene="qa", session="s1", served_model="a",
    fallback="none", status=200, code="", verdict="clean", loop_class="", attempts=({"model": "a", "fault": None},),
    metrics={"ngram": 0.25}, stream=True, elapsed_ms=120, first_text_ms=None, tokens_in=10, tokens_out=20,
)  # fmt: skip
FAILED = FailedReply(
    request_id="pm-1", at=1_700_000_000.5, model="a", scene="qa", fault="repetition_detected", loop_class="stuck",
    rules=("run",), metrics={"run": 300.0}, fingerprint="f", onset=12, excerpt="好好好好",
)  # fmt: skip


async def test_rows_come_back_as_they_were_added(engine: AsyncEngine) -> None:
    log, reads = SqlCallLog(engine), Written(engine)
    log.add_call(CALL)
    log.add_failed(FAILED)
    await log.flush()
    assert log.waiting == 0
    assert await reads.call("pm-1") == CALL
    assert await reads.call("pm-2") is None
    assert await reads.failed() == [FAILED]


async def test_a_batch_written_twice_stays_once(engine: AsyncEngine) -> None:
    log, reads = SqlCallLog(engine), Written(engine)
    for _ in range(2):
        log.add_call(CALL)
        await log.flush()
    assert len(await reads.calls()) == 1


async def test_rows_wait_while_the_database_is_away_and_arrive_later(engine: AsyncEngine) -> None:
    log = SqlCallLog(engine, queue_rows=3)
    async with engine.begin() as connection:
        await connection.execute(text('ALTER TABLE "call" RENAME TO away'))
    for number in range(5):
        log.add_call(replace(CALL, request_id=f"pm-{number}"))
    with pytest.raises(StoreUnavailable):
        await log.flush()
    assert (log.waiting, log.dropped) == (3, 2)
    async with engine.begin() as connection:
        await connection.execute(text('ALTER TABLE away RENAME TO "call"'))
    await log.flush()
    assert [row.request_id for row in await Written(engine).calls()] == ["pm-0", "pm-1", "pm-2"]


async def test_one_bad_row_does_not_hold_up_the_others(engine: AsyncEngine) -> None:
    log = SqlCallLog(engine)
    log.add_call(replace(CALL, request_id="pm-bad", tokens_in=2**70))
    log.add_call(replace(CALL, request_id="pm-good"))
    await log.flush()
    assert (log.refused, log.waiting) == (1, 0)
    assert [row.request_id for row in await Written(engine).calls()] == ["pm-good"]


async def test_strings_that_do_not_fit_are_cut(engine: AsyncEngine) -> None:
    log = SqlCallLog(engine)
    log.add_call(replace(CALL, scene="长" * 500, app="a\x00b\ud800"))
    await log.flush()
    kept = await Written(engine).call("pm-1")
    assert kept is not None
    assert (kept.scene, kept.app) == ("长" * 128, "ab?")

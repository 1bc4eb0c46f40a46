"""`call` in partitions by day (deploy/postgres-partitions.sql): the product goes on as before, and days are dropped whole."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from router.ports import CallRow
from store.sql_calls import SqlCallLog
from store.sql_feedback import SqlFeedbackLog
from store.sql_retention import SqlRetention
from store.tables import call
from tests.support.call_log import Written
from tests.support.clock import ManualClock

pytestmark = [pytest.mark.postgres, pytest.mark.parametrize("empty_url", ["postgresql"], indirect=True)]
SCRIPT = Path(__file__).parents[2] / "deploy" / "postgres-partitions.sql"
DAY_S = 86_400.0
ROW = CallRow(
    request_id="pm-1", at=0.0, app="app", route="r", scene="chat", session="s", served_model="a", fallback="none",
    status=200, code="", verdict="clean", loop_class="", attempts=(), metrics={}, stream=False, elapsed_ms=1,
    first_text_ms=None, tokens_in=1, tokens_out=1,
)  # fmt: skip


async def write(engine: AsyncEngine, *rows: CallRow) -> None:
    log = SqlCallLog(engine)
    for row in rows:
        log.add_call(row)
    await log.flush()
    assert log.refused == 0


async def asked(engine: AsyncEngine, query: str) -> list[str]:
    async with engine.begin() as connection:
        found = await connection.execute(text(query))
        return [str(value) for value in found.scalars()] if found.returns_rows else []


async def parts(engine: AsyncEngine) -> list[str]:
    named = "select inhrelid::regclass::text from pg_inherits where inhparent = 'call'::regclass order by 1"
    return await asked(engine, named)


@pytest.fixture
async def parted(engine: AsyncEngine) -> AsyncEngine:
    """A migrated database with two rows of before, in partitions."""
    await write(engine, replace(ROW, request_id="old-1", at=time.time() - 40 * DAY_S), replace(ROW, request_id="old-2"))
    async with engine.connect() as connection:
        raw = (await connection.get_raw_connection()).driver_connection
        assert raw is not None
        await raw.execute(SCRIPT.read_text(encoding="utf-8"))
    return engine


async def test_rows_of_before_and_of_now_are_found_and_a_batch_written_twice_is_kept_once(
    parted: AsyncEngine, clock: ManualClock
) -> None:
    calls = Written(parted)
    found, asked_about = await calls.call("old-1"), await SqlFeedbackLog(parted, clock).answered("old-2")
    assert found is not None and found.request_id == "old-1"
    assert asked_about is not None and asked_about.model == "a"
    new = replace(ROW, request_id="new", at=time.time())
    await write(parted, new)
    await write(parted, new, replace(new, request_id="tomorrow", at=new.at + DAY_S))
    assert [row.request_id for row in await calls.calls()] == ["tomorrow", "new", "old-1", "old-2"]


async def test_retention_deletes_row_by_row_what_no_partition_took_along(parted: AsyncEngine) -> None:
    await write(parted, replace(ROW, request_id="new", at=time.time()))
    assert await SqlRetention(parted, batch=1).older(call, "at", time.time() - 30 * DAY_S) == 2
    assert await SqlRetention(parted, batch=1).beyond(call, "at", 0) == 1


async def test_a_row_that_fits_no_partition_is_kept_and_moved_once_its_day_has_one(parted: AsyncEngine) -> None:
    far = replace(ROW, request_id="far", at=time.time() + 9 * DAY_S)
    await write(parted, far)
    assert await asked(parted, "select request_id from call_default") == ["far"]
    await asked(parted, "select call_partitions(30, 10)")
    assert await asked(parted, "select request_id from call_default") == []
    assert await Written(parted).call("far") is not None


async def test_days_that_are_over_are_dropped_whole_and_the_days_ahead_are_there(parted: AsyncEngine) -> None:
    today = int(time.time() // DAY_S)
    past = await asked(parted, f"select call_partition({today - 40})")
    await asked(
        parted, f"create table {past[0]} partition of call for values from (1e12) to (2e12)"
    )  # by its name of that day
    before = await parts(parted)
    await asked(parted, "select call_partitions(30)")
    assert set(before) - set(await parts(parted)) == set(past)
    assert len(await parts(parted)) == 1 + 1 + 7  # the default, today with all that was before, and seven days ahead
    with pytest.raises(Exception, match="kept_days and ahead_days must be at least 1"):
        await asked(parted, "select call_partitions(0)")

"""Rows of a span leave the database whole, in order and a page at a time, on SQLite and PostgreSQL."""

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.window import Counts
from monitor.rollup import Rollup
from store.sql_export import KINDS, PAGE, columns, rows
from store.sql_rollups import SqlRollups


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_of_row_can_be_read_from_an_empty_database(engine: AsyncEngine, kind: str) -> None:
    assert [row async for row in rows(engine, kind, 0.0, 1e12)] == []
    assert {"at", "starts_at"} & set(columns(kind))


async def test_more_than_a_page_comes_whole_and_in_order_and_the_end_is_not_included(engine: AsyncEngine) -> None:
    count = PAGE + 7
    hours = [Rollup(model="a", scope="", starts_at=float(at), counts=Counts(judged=1)) for at in range(count)]
    await SqlRollups(engine).put_hours(hours)
    got = [row["starts_at"] async for row in rows(engine, "hours", 2.0, float(count - 1))]
    assert got == [float(at) for at in range(2, count - 1)]

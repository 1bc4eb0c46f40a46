"""Old rows go in small batches, and the oldest of too many, on SQLite and PostgreSQL."""

import pytest
from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.policy import RetentionPolicy
from pointsman.retention import DAY_S, forget_old
from store.sql_jobs import SqlJobs
from store.sql_retention import SqlRetention
from store.tables import transition
from tests.support.clock import ManualClock


async def fill(engine: AsyncEngine, moments: list[float]) -> None:
    rows = [
        {
            "model": "a", "epoch": epoch, "at": at, "from_level": "healthy", "to_level": "warn", "reasons": [],
            "numbers": [], "actor": "breaker", "note": "", "enforced": True,
        }
        for epoch, at in enumerate(moments)
    ]  # fmt: skip
    async with engine.begin() as connection:
        await connection.execute(insert(transition), rows)


async def kept(engine: AsyncEngine) -> list[float]:
    async with engine.connect() as connection:
        return list((await connection.execute(select(transition.c.at).order_by(transition.c.at))).scalars())


async def test_rows_before_a_moment_go_whatever_the_batch(engine: AsyncEngine) -> None:
    await fill(engine, [float(at) for at in range(25)])
    assert await SqlRetention(engine, batch=4).older(transition, "at", 20.0) == 20
    assert await kept(engine) == [20.0, 21.0, 22.0, 23.0, 24.0]


@pytest.mark.parametrize("most", [0, 3, 25, 100])
async def test_the_oldest_beyond_a_number_go(engine: AsyncEngine, most: int) -> None:
    await fill(engine, [float(at) for at in range(25)])
    assert await SqlRetention(engine, batch=4).beyond(transition, "at", most) == max(0, 25 - most)
    assert await kept(engine) == [float(at) for at in range(25)][25 - min(25, most) :]


async def test_each_kind_of_row_is_kept_as_long_as_the_policy_says(engine: AsyncEngine, clock: ManualClock) -> None:
    now_s = clock.now_s()
    await fill(engine, [now_s - 366 * DAY_S, now_s - 364 * DAY_S])
    assert await forget_old(SqlRetention(engine), SqlJobs(engine), RetentionPolicy(), clock) == 1
    async with engine.connect() as connection:
        assert (await connection.execute(select(func.count()).select_from(transition))).scalar_one() == 1

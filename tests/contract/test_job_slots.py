"""The port JobSlots over memory, SQLite and PostgreSQL."""

import asyncio

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.ports import JobSlots
from store.memory import MemoryJobs
from store.sql_jobs import DONE, FAILED, RUNNING, SqlJobs


@pytest.fixture(params=["memory", "sql"])
def slots(request: pytest.FixtureRequest, engine: AsyncEngine) -> JobSlots:
    return MemoryJobs() if request.param == "memory" else SqlJobs(engine)


async def test_of_many_at_once_one_gets_the_slot(slots: JobSlots) -> None:
    got = await asyncio.gather(*(slots.claim("nightly", "2026-01-31", f"p{i}", 7, 1.0) for i in range(8)))
    assert sum(got) == 1


async def test_other_slots_and_other_jobs_are_free(slots: JobSlots) -> None:
    assert await slots.claim("nightly", "2026-01-31", "a", 1, 1.0)
    assert await slots.claim("nightly", "2026-02-01", "a", 1, 1.0)
    assert await slots.claim("retention", "2026-01-31", "a", 1, 1.0)


async def test_a_slot_left_running_goes_to_the_next_leader_and_the_earlier_one_is_not_heard(slots: JobSlots) -> None:
    assert await slots.claim("nightly", "s", "a", 1, 1.0)
    assert await slots.claim("nightly", "s", "b", 2, 2.0)
    assert not await slots.claim("nightly", "s", "a", 1, 3.0)
    assert not await slots.finish("nightly", "s", 1, 4.0)
    assert await slots.finish("nightly", "s", 2, 5.0)


@pytest.mark.parametrize("error", ["", "ValueError"])
async def test_an_ended_slot_is_never_run_again(slots: JobSlots, error: str) -> None:
    assert await slots.claim("nightly", "s", "a", 1, 1.0)
    assert await slots.finish("nightly", "s", 1, 2.0, error=error)
    assert not await slots.claim("nightly", "s", "b", 9, 3.0)
    assert not await slots.finish("nightly", "s", 1, 4.0)


async def test_the_last_runs_are_listed_newest_first(engine: AsyncEngine) -> None:
    jobs = SqlJobs(engine)
    for at, (job, slot) in enumerate([("nightly", "1"), ("retention", "1"), ("nightly", "2")]):
        await jobs.claim(job, slot, "a", 1, float(at))
    await jobs.finish("nightly", "1", 1, 5.0)
    await jobs.finish("retention", "1", 1, 6.0, error="OSError")
    assert [(run.job, run.slot, run.state, run.detail) for run in await jobs.last()] == [
        ("nightly", "2", RUNNING, ""),
        ("retention", "1", FAILED, "OSError"),
        ("nightly", "1", DONE, ""),
    ]
    assert [run.slot for run in await jobs.last("nightly", limit=1)] == ["2"]

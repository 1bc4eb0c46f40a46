"""The port JobSlots over memory, SQLite and PostgreSQL."""

import asyncio

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.jobs import RunState
from monitor.ports import JobSlots
from store.memory import MemoryJobs
from store.sql_jobs import SqlJobs

NIGHT = "2026-01-31T03:00+0800"


@pytest.fixture(params=["memory", "sql"])
def slots(request: pytest.FixtureRequest, engine: AsyncEngine) -> JobSlots:
    return MemoryJobs() if request.param == "memory" else SqlJobs(engine)


async def test_of_many_at_once_one_gets_the_slot(slots: JobSlots) -> None:
    got = await asyncio.gather(*(slots.claim("nightly", NIGHT, f"p{i}", 7, 1.0, due_at=1.0) for i in range(8)))
    assert [tries for tries in got if tries is not None] == [1]


async def test_other_slots_and_other_jobs_are_free(slots: JobSlots) -> None:
    assert await slots.claim("nightly", NIGHT, "a", 1, 1.0, due_at=1.0)
    assert await slots.claim("nightly", "2026-02-01", "a", 1, 1.0, due_at=1.0)
    assert await slots.claim("retention", NIGHT, "a", 1, 1.0, due_at=1.0)


async def test_a_slot_left_running_goes_to_the_next_leader_and_the_earlier_one_is_not_heard(slots: JobSlots) -> None:
    assert await slots.claim("nightly", "s", "a", 1, 1.0, due_at=1.0) == 1
    assert [run.slot for run in await slots.open(2.0, 2)] == ["s"]
    assert await slots.open(2.0, 1) == []
    assert await slots.claim("nightly", "s", "b", 2, 2.0, due_at=1.0) == 2
    assert await slots.claim("nightly", "s", "a", 1, 3.0, due_at=1.0) is None
    assert not await slots.finish("nightly", "s", 1, 4.0)
    assert await slots.finish("nightly", "s", 2, 5.0)


@pytest.mark.parametrize("error", ["", "ValueError"])
async def test_an_ended_slot_is_never_run_again(slots: JobSlots, error: str) -> None:
    assert await slots.claim("nightly", "s", "a", 1, 1.0, due_at=1.0)
    assert await slots.finish("nightly", "s", 1, 2.0, error=error)
    assert await slots.claim("nightly", "s", "b", 9, 3.0, due_at=1.0) is None
    assert not await slots.finish("nightly", "s", 1, 4.0)


async def test_a_failed_slot_is_free_again_from_the_moment_it_is_to_be_tried(slots: JobSlots) -> None:
    assert await slots.claim("nightly", "s", "a", 1, 1.0, due_at=1.0) == 1
    assert await slots.finish("nightly", "s", 1, 2.0, error="odd", retry_at=10.0)
    assert await slots.open(9.0, 1) == []
    assert await slots.claim("nightly", "s", "a", 1, 9.0, due_at=1.0) is None
    (run,) = await slots.open(10.0, 1)
    assert (run.state, run.tries, run.detail) == (RunState.FAILED, 1, "odd")
    assert await slots.claim("nightly", "s", "a", 1, 10.0, due_at=1.0) == 2
    assert await slots.open(20.0, 1) == []


async def test_a_slot_that_was_asked_for_is_claimed_once(slots: JobSlots) -> None:
    assert await slots.note("nightly", "hand-5.000", RunState.ASKED, 5.0, due_at=5.0, detail="asked by ann")
    assert not await slots.note("nightly", "hand-5.000", RunState.ASKED, 6.0, due_at=6.0)
    assert [run.slot for run in await slots.open(6.0, 1)] == ["hand-5.000"]
    got = [await slots.claim("nightly", "hand-5.000", owner, 1, 6.0, due_at=5.0) for owner in "ab"]
    assert got == [1, None]


async def test_the_newest_slot_of_a_job_leaves_out_what_was_asked_for_and_what_another_clock_wrote(
    slots: JobSlots,
) -> None:
    for slot, due_at in (("one", 100.0), ("two", 200.0), ("hand-300.000", 300.0), ("far", 1e12)):
        await slots.note("nightly", slot, RunState.MISSED, 1.0, due_at=due_at)
    assert await slots.newest(["nightly", "other"], 500.0) == {"nightly": 200.0}


async def test_the_last_runs_are_listed_newest_first(slots: JobSlots) -> None:
    for at, (job, slot) in enumerate([("nightly", "1"), ("retention", "1"), ("nightly", "2")]):
        await slots.claim(job, slot, "a", 1, float(at), due_at=float(at))
    await slots.finish("nightly", "1", 1, 5.0)
    await slots.finish("retention", "1", 1, 6.0, error="OSError")
    assert [(run.job, run.slot, run.state, run.detail) for run in await slots.last()] == [
        ("nightly", "2", RunState.RUNNING, ""),
        ("retention", "1", RunState.FAILED, "OSError"),
        ("nightly", "1", RunState.DONE, ""),
    ]
    assert [run.slot for run in await slots.last("nightly", limit=1)] == ["2"]


async def test_old_slots_go_and_the_newest_of_each_job_stays(engine: AsyncEngine) -> None:
    slots = SqlJobs(engine)
    for slot in ("1", "2", "3"):
        await slots.claim("nightly", slot, "a", 1, float(slot), due_at=float(slot))
        await slots.finish("nightly", slot, 1, float(slot))
    await slots.claim("retention", "1", "a", 1, 1.0, due_at=1.0)  # still running
    assert await slots.forget(100.0) == 2
    assert {(run.job, run.slot) for run in await slots.last()} == {("nightly", "3"), ("retention", "1")}

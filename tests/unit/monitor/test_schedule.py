"""The clock jobs: once per fleet, and never the end of the scheduler."""

from breaker.ports import StoreUnavailable
from monitor.schedule import MISFIRE_GRACE_S, Job, Schedule
from store.memory import MemoryLease
from tests.support.clock import ManualClock


def counted(runs: list[str], error: Exception | None = None) -> Job:
    async def work() -> None:
        runs.append("run")
        if error is not None:
            raise error

    return Job(name="retention", work=work, hour=3)


async def test_a_job_runs_in_one_process_of_the_fleet() -> None:
    runs: list[str] = []
    lease, job = MemoryLease(ManualClock(1_000.0)), counted(runs)
    first, second = Schedule([job], lease, "a"), Schedule([job], lease, "b")
    assert await first.once(job) is True
    assert await second.once(job) is False
    assert runs == ["run"]


async def test_a_process_that_is_late_within_the_grace_does_not_repeat_the_slot() -> None:
    runs: list[str] = []
    clock = ManualClock(1_000.0)
    lease, job = MemoryLease(clock), counted(runs)
    await Schedule([job], lease, "a").once(job)
    clock.tick(MISFIRE_GRACE_S)
    assert await Schedule([job], lease, "b").once(job) is False
    clock.tick(86_400.0 - MISFIRE_GRACE_S)
    assert await Schedule([job], lease, "b").once(job) is True
    assert runs == ["run", "run"]


async def test_a_failing_job_is_reported_and_does_not_raise() -> None:
    for error in (ValueError("odd"), StoreUnavailable("gone")):
        job = counted([], error)
        assert await Schedule([job], MemoryLease(ManualClock(1_000.0)), "a").once(job) is False


async def test_every_job_is_known_to_the_scheduler_until_it_stops() -> None:
    job = counted([])
    schedule = Schedule([job], MemoryLease(ManualClock(1_000.0)), "a")
    schedule.start()
    assert [known.id for known in schedule._scheduler.get_jobs()] == ["retention"]
    schedule.stop()
    schedule.stop()

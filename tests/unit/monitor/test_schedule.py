"""The clock jobs: each slot once per fleet, through the death of a leader, and never the end of the scheduler."""

import asyncio
from collections.abc import Awaitable, Callable

from breaker.ports import StoreUnavailable
from monitor.schedule import LEASE_S, RENEW_S, Job, Schedule
from store.memory import MemoryJobs, MemoryLease
from tests.support.clock import ManualClock

NOON_S = 1_700_020_800.0  # 2023-11-15 12:00 in Shanghai
DAY_S = 86_400.0


class Fleet:
    """Schedules over one lease and one list of slots; `runs` counts what the job did."""

    def __init__(self, work: Callable[[], Awaitable[None]] | None = None, lease: MemoryLease | None = None) -> None:
        self.clock = ManualClock(NOON_S)
        self.lease = lease or MemoryLease(self.clock)
        self.slots = MemoryJobs()
        self.runs = 0
        self._work = work
        self.job = Job(name="retention", work=self._run, hour=3)

    async def _run(self) -> None:
        self.runs += 1
        if self._work is not None:
            await self._work()

    def schedule(self, owner: str) -> Schedule:
        return Schedule([self.job], self.lease, self.slots, owner, self.clock)


async def test_a_slot_runs_in_one_process_of_the_fleet() -> None:
    fleet = Fleet()
    ran = await asyncio.gather(*(fleet.schedule(owner).once(fleet.job) for owner in "a"))
    again = await asyncio.gather(*(fleet.schedule(owner).once(fleet.job) for owner in "bcd"))
    assert (ran, again, fleet.runs) == ([True], [False] * 3, 1)


async def test_the_next_day_is_the_next_slot() -> None:
    fleet = Fleet()
    assert fleet.schedule("a").slot(fleet.job) == "2023-11-15"
    await fleet.schedule("a").once(fleet.job)
    fleet.clock.tick(DAY_S - 9.5 * 3_600)  # half past two: what was due last is still the first slot
    assert await fleet.schedule("b").once(fleet.job) is False
    fleet.clock.tick(3_600.0)
    assert await fleet.schedule("b").once(fleet.job) is True
    assert fleet.runs == 2


async def test_the_slot_of_a_leader_that_died_is_run_again_once() -> None:
    fleet = Fleet()
    # Dead without a word: the lease runs out by itself, the slot stays marked as running.
    fence = await fleet.lease.hold("job-retention", "dead", LEASE_S)
    assert fence is not None
    await fleet.slots.claim("retention", "2023-11-15", "dead", fence, NOON_S)
    heirs = [asyncio.ensure_future(fleet.schedule(owner).once(fleet.job)) for owner in "bc"]
    await fleet.clock.advance(LEASE_S - 1.0)
    assert fleet.runs == 0
    await fleet.clock.advance(2 * RENEW_S)
    assert sorted(await asyncio.gather(*heirs)) == [False, True]
    assert fleet.runs == 1


async def test_a_long_job_keeps_its_lease() -> None:
    gate = asyncio.Event()
    fleet = Fleet(gate.wait)  # type: ignore[arg-type]
    first = asyncio.ensure_future(fleet.schedule("a").once(fleet.job))
    await fleet.clock.advance(1.0)
    second = asyncio.ensure_future(fleet.schedule("b").once(fleet.job))
    await fleet.clock.advance(5 * LEASE_S)
    gate.set()
    await fleet.clock.advance(2 * RENEW_S)
    assert (await first, await second, fleet.runs) == (True, False, 1)


async def test_work_stops_before_a_lease_ends_that_cannot_be_renewed() -> None:
    class Gone(MemoryLease):
        away = False

        async def hold(self, name: str, owner: str, ttl_s: float) -> int | None:
            if self.away:
                raise StoreUnavailable("gone")
            return await super().hold(name, owner, ttl_s)

    fleet = Fleet(asyncio.Event().wait)  # type: ignore[arg-type]
    fleet.lease = lease = Gone(fleet.clock)
    run = asyncio.ensure_future(fleet.schedule("a").once(fleet.job))
    await fleet.clock.advance(1.0)
    lease.away = True
    await fleet.clock.advance(LEASE_S - 1.0)
    assert run.done()
    assert run.result() is False


async def test_a_failing_job_is_reported_marked_and_does_not_raise() -> None:
    for error in (ValueError("odd"), StoreUnavailable("gone")):

        async def fail(error: Exception = error) -> None:
            raise error

        fleet = Fleet(fail)
        assert await fleet.schedule("a").once(fleet.job) is False
        assert await fleet.schedule("b").once(fleet.job) is False
        assert fleet.runs == 1


async def test_every_job_is_known_to_the_scheduler_until_it_stops() -> None:
    schedule = Fleet().schedule("a")
    schedule.start()
    assert [known.id for known in schedule._scheduler.get_jobs()] == ["retention"]
    schedule.stop()
    schedule.stop()

"""Four leaders-to-be on a real Redis and a real database: every slot once, through the death of the one that leads.

Scaled time, so that a minute passes in two seconds; nothing here depends on how fast the machine is.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import SystemClock
from monitor.cron import Cron
from monitor.jobs import Job, JobRun, Run, RunState
from monitor.schedule import Schedule
from store.memory_desk import MemoryDesk
from store.redis_link import RedisLink, connect
from store.redis_states import RedisLease
from store.sql_jobs import SqlJobs
from tests.support.valkey import Valkey

SCALE = 30.0
pytestmark = pytest.mark.timeout(240)


class Fleet:
    """Schedules over one Redis and one database. The first run of `long_slot` never ends by itself."""

    def __init__(self, valkey: Valkey, engine: AsyncEngine) -> None:
        self.clock, self.slots, self.desk = SystemClock(SCALE), SqlJobs(engine), MemoryDesk()
        self.valkey = valkey
        self.links: list[RedisLink] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.began: list[tuple[str, str, int]] = []
        self.ended: list[str] = []
        self.stuck: tuple[str, str] | None = None

    def start(self, owner: str) -> None:
        link = RedisLink(connect(self.valkey.url), self.clock)
        self.links.append(link)

        async def work(run: Run) -> None:
            self.began.append((owner, run.slot, run.attempt))
            if self.stuck is None and len(self.ended) == 2:
                self.stuck = (owner, run.slot)
                await asyncio.Event().wait()
            self.ended.append(run.slot)

        job = Job(name="minutely", cron=Cron("* * * * *", "UTC"), work=work)
        lease = RedisLease(link, self.clock)
        schedule = Schedule([job], lease, self.slots, owner, self.clock, self.desk)

        async def die_silently() -> None:
            # A process that is killed gives nothing back.
            lease.release = _nothing  # type: ignore[method-assign]
            await schedule.run()

        self.tasks[owner] = asyncio.create_task(die_silently())

    async def until(self, holds: Callable[[], bool]) -> None:
        end_s = asyncio.get_running_loop().time() + 60
        while not holds():
            assert asyncio.get_running_loop().time() < end_s, "not seen in time"
            await asyncio.sleep(0.05)

    async def close(self) -> None:
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        for link in self.links:
            await link.close()


async def _nothing(name: str, owner: str) -> None: ...


@pytest.fixture
async def fleet(valkey: Valkey, engine: AsyncEngine, link: RedisLink) -> AsyncIterator[Fleet]:
    fleet = Fleet(valkey, engine)
    yield fleet
    await fleet.close()


async def test_row_47_each_slot_runs_once_and_the_one_whose_leader_died_ends_once(fleet: Fleet) -> None:
    for owner in "abcd":
        fleet.start(owner)
    await fleet.until(lambda: fleet.stuck is not None)
    assert fleet.stuck is not None
    leader, slot = fleet.stuck
    fleet.tasks[leader].cancel()
    await fleet.until(lambda: slot in fleet.ended)
    already = len(fleet.ended)
    await fleet.until(lambda: len(fleet.ended) >= already + 2)
    runs = [run for run in await fleet.slots.last("minutely", 100) if run.state is not RunState.KNOWN]
    by_slot: dict[str, list[JobRun]] = {}
    for run in runs:
        by_slot.setdefault(run.slot, []).append(run)
    assert all(len(rows) == 1 for rows in by_slot.values())
    assert len(set(fleet.ended)) == len(fleet.ended)
    (taken,) = by_slot[slot]
    assert (taken.state, taken.tries) == (RunState.DONE, 2)
    assert taken.owner != leader
    assert {run.tries for run in runs if run.slot != slot and run.state is RunState.DONE} == {1}
    # One leads at a time: before the death all runs were one process's, the later ones another's.
    owners = [owner for owner, _, _ in fleet.began]
    assert owners == sorted(owners, key=lambda owner: owner != leader)

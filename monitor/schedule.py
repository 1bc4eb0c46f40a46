"""Runs the clock jobs (retention of call rows, the daily heartbeat) in the process that holds the lease, and in no other.

The job store is in memory: every process knows the same jobs, and each run asks for the lease first, so a job of the
fleet runs once however many processes are up. A slot missed by less than an hour is made up for, once.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

from breaker.ports import Lease, StoreUnavailable

log = logging.getLogger(__name__)
MISFIRE_GRACE_S = 3_600
# Outlasts the grace, so that a late process does not repeat a slot; ends before the next day's slot.
LEASE_S = 2.0 * MISFIRE_GRACE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`work` runs daily at `hour`:`minute` in the schedule's time zone. It may raise: the next run comes all the same."""

    name: str
    work: Callable[[], Awaitable[object]]
    hour: int
    minute: int = 0


class Schedule:
    """`start` inside a running loop, `stop` at its end; `once` runs one job now, under its lease."""

    def __init__(self, jobs: Sequence[Job], lease: Lease, owner: str, timezone: str = "Asia/Shanghai") -> None:
        self._jobs, self._lease, self._owner, self._timezone = tuple(jobs), lease, owner, timezone
        self._scheduler = AsyncIOScheduler(
            timezone=timezone,
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": MISFIRE_GRACE_S},
        )

    def start(self) -> None:
        for job in self._jobs:
            trigger = CronTrigger(hour=job.hour, minute=job.minute, timezone=self._timezone)
            self._scheduler.add_job(self.once, trigger, args=[job], id=job.name, replace_existing=True)
        self._scheduler.start()

    def stop(self) -> None:
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    async def once(self, job: Job) -> bool:
        """Run the job if this process gets its lease; whether it ran to its end. Raises nothing of the job's own."""
        try:
            if await self._lease.hold(f"job-{job.name}", self._owner, LEASE_S) is None:
                return False
            await job.work()
        except StoreUnavailable:
            log.warning("job %s did not run: the store does not answer", job.name)
            return False
        except Exception:
            log.exception("job %s failed", job.name)
            return False
        return True

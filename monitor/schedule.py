"""Runs the clock jobs (retention of call rows, the daily heartbeat): each slot once, in one process of the fleet.

The job store is in memory and every process knows the same jobs. Two things stand before each run: a lease, renewed
while the work goes on, and the slot's row, which stays; so a slot runs once even where the lease is forgotten, and one
whose leader died in the middle is run again by the next. A slot missed by less than an hour is made up for, once.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

from base.clock import Clock
from breaker.ports import Lease, StoreUnavailable
from monitor.ports import JobSlots

log = logging.getLogger(__name__)
MISFIRE_GRACE_S = 3_600
# BREAKER.md, Redis, Leader: 30 s, renewed every 10 s, stop before the lease ends.
LEASE_S = 30.0
RENEW_S = 10.0
STOP_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`work` runs daily at `hour`:`minute` in the schedule's time zone. It may raise: the next run comes all the same."""

    name: str
    work: Callable[[], Awaitable[object]]
    hour: int
    minute: int = 0


class Schedule:
    """`start` inside a running loop, `stop` at its end; `once` runs one job's slot now, if it is still to run."""

    def __init__(
        self,
        jobs: Sequence[Job],
        lease: Lease,
        slots: JobSlots,
        owner: str,
        clock: Clock,
        timezone: str = "Asia/Shanghai",
    ) -> None:
        self._jobs, self._lease, self._slots, self._owner = tuple(jobs), lease, slots, owner
        self._clock, self._timezone = clock, timezone
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

    def slot(self, job: Job) -> str:
        """The day (`2026-01-31`, in the schedule's time zone) whose run of `job` was due last."""
        # Scaled time leaves the calendar behind; the scheduler and its slots go by the real one.
        here = datetime.fromtimestamp(self._clock.real_s(self._clock.now_s()), ZoneInfo(self._timezone))
        due = here.replace(hour=job.hour, minute=job.minute, second=0, microsecond=0)
        return (here if due <= here else here - timedelta(days=1)).date().isoformat()

    async def once(self, job: Job) -> bool:
        """Run the slot that is due unless it ran; whether it ran here, to its end. Raises nothing of the job's own.

        While another process runs it, wait: if that one dies, its lease ends and the slot is ours.
        """
        slot, name = self.slot(job), f"job-{job.name}"
        try:
            fence = await self._elected(name)
            if fence is None:
                return False
            try:
                if not await self._slots.claim(job.name, slot, self._owner, fence, self._clock.now_s()):
                    return False
                error = await self._worked(job, name, fence)
                kept = await self._slots.finish(job.name, slot, fence, self._clock.now_s(), error=error)
            finally:
                await self._lease.release(name, self._owner)
        except StoreUnavailable:
            log.warning("job %s: the store does not answer", job.name)
            return False
        return kept and not error

    async def _elected(self, name: str) -> int | None:
        patience = int(MISFIRE_GRACE_S / RENEW_S)
        for _ in range(patience):
            fence = await self._lease.hold(name, self._owner, LEASE_S)
            if fence is not None:
                return fence
            await self._clock.sleep(RENEW_S)
        return None

    async def _worked(self, job: Job, name: str, fence: int) -> str:
        """Do the work under the lease; "" or what went wrong."""
        work = asyncio.ensure_future(job.work())
        watch = asyncio.ensure_future(self._lost(name, fence))
        try:
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return "lease lost"
            await work
        except Exception as error:
            log.exception("job %s failed", job.name)
            return type(error).__name__
        finally:
            for task in (work, watch):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task
        return ""

    async def _lost(self, name: str, fence: int) -> None:
        """Renew the lease; return when it is another's, or could not be renewed shortly before it ends."""
        good_until = self._clock.monotonic_s() + LEASE_S - STOP_S
        while True:
            await self._clock.sleep(min(RENEW_S, max(0.0, good_until - self._clock.monotonic_s())))
            asked_at = self._clock.monotonic_s()
            try:
                if await self._lease.hold(name, self._owner, LEASE_S) != fence:
                    return
                good_until = asked_at + LEASE_S - STOP_S
            except StoreUnavailable:
                if asked_at >= good_until:
                    return

"""Runs the clock jobs in the leader of the fleet: each slot once, made up for after downtime, tried again when it failed.

APScheduler, with its job store in memory and in the leader alone, says when to look; what is due is read off the
fleet's clock and the slots in SQL (jobs.py), so that a scaled or a manual clock runs the same jobs in its own time.
In:  jobs, ticks, the lease, the slots, the desk.  Out: runs; JOB_MISSED for what did not run.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from base.cancels import end
from base.clock import Clock
from breaker.ports import Lease, StoreUnavailable
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.counts import MonitorCounts
from monitor.cron import Cron
from monitor.jobs import Due, Job, JobRun, Run, RunState, Tick, due
from monitor.leader import LEASE_S, RENEW_S, Leader
from monitor.ports import AlertDesk, JobSlots

__all__ = ["LEASE_S", "RENEW_S", "Job", "Run", "Schedule", "Tick"]
log = logging.getLogger(__name__)
MISFIRE_GRACE_S = 3_600
HAND = "hand-"
ALARM_CAP_S = 3_600.0
"""APScheduler waits on real time: it looks at least this often, whatever the fleet's clock did meanwhile."""

STUCK_S = 5.0
"""Real seconds that cancelled work may take to end: the lease ends by then, and the next leader begins."""


class Schedule:
    """`run` until cancelled. One per process that has the monitor's role; all know the same jobs, the leader runs them."""

    def __init__(
        self,
        jobs: Sequence[Job],
        lease: Lease,
        slots: JobSlots,
        owner: str,
        clock: Clock,
        desk: AlertDesk,
        ticks: Sequence[Tick] = (),
        counts: MonitorCounts | None = None,
    ) -> None:
        self.jobs = {job.name: job for job in jobs}
        self.leader = Leader(lease, owner, clock)
        self._slots, self._owner, self._clock, self._desk = slots, owner, clock, desk
        self._counts = counts or MonitorCounts()
        self._ticks = {tick.name: tick for tick in ticks}
        self._ticked: dict[str, float] = {}
        self._alarms: AsyncIOScheduler | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._looking = asyncio.Lock()
        self._owed: deque[Callable[[], Awaitable[object]]] = deque()
        """Ends of runs and alerts that a store did not take yet, oldest first."""

    async def run(self) -> None:
        """Lead whenever nobody else does, until cancelled."""
        try:
            while True:
                await self.beat()
                await self._clock.sleep(min(self.leader.wait_s(), self._next_tick_s()))
        finally:
            await self.stop()

    async def stop(self) -> None:
        """End what runs here; a slot cut short is begun again by the next leader."""
        await self._abandon()
        with contextlib.suppress(StoreUnavailable):
            await self.leader.resign()

    async def beat(self) -> None:
        """Renew the lease; as the leader, start what is due. Never raises for a store that is gone or a job that fails."""
        before, fence = self.leader.fence, await self.leader.beat()
        if fence != before:
            await self._abandon()
        if fence is None:
            return
        if self._alarms is None:
            self._alarms = self._set_alarms()
        self._start_ticks(fence)
        await self.look()

    async def look(self) -> None:
        """Start every slot that is due and not running."""
        fence = self.leader.fence
        if fence is None or self._looking.locked():
            return
        async with self._looking:
            try:
                await self._pay()
                await self._start_due(fence)
            except StoreUnavailable as error:
                log.warning("clock jobs wait: %s", error)

    async def ask(self, name: str, actor: str) -> str:
        """Ask for a run of `name` now, whoever leads; the slot's name. Raises KeyError, StoreUnavailable."""
        job, now_s = self.jobs[name], self._clock.now_s()
        slot = f"{HAND}{now_s:.3f}"
        await self._slots.note(job.name, slot, RunState.ASKED, now_s, due_at=now_s, detail=f"asked by {actor}")
        return slot

    async def idle(self) -> None:
        """Wait until nothing that was started here runs any more."""
        while self._running:
            await asyncio.wait(set(self._running.values()))

    # -- slots ----------------------------------------------------------------------------------------------------

    async def _start_due(self, fence: int) -> None:
        now_s = self._clock.now_s()
        newest = await self._slots.newest(tuple(self.jobs), now_s)
        for job in self.jobs.values():
            if job.name not in newest:
                # First seen: what was due before is nobody's duty, what comes after is missed if it does not run.
                slot = f"known-{job.cron.name(now_s)}"
                await self._slots.note(job.name, slot, RunState.KNOWN, now_s, due_at=now_s)
            elif job.name not in self._running:
                await self._begin(job, newest[job.name], fence, now_s)
        for row in await self._slots.open(now_s, fence):
            known = self.jobs.get(row.job)
            if known is not None and row.job not in self._running:
                await self._claim(known, row.slot, row.due_at, fence, taken_over=row.state is RunState.RUNNING)

    async def _begin(self, job: Job, since: float, fence: int, now_s: float) -> None:
        found = due(job, since, now_s)
        if found is None:
            return
        slot = job.cron.name(found.at)
        if found.passed_over:
            await self._tell_missed(job, slot, found)
        if found.late:
            await self._slots.note(job.name, slot, RunState.MISSED, now_s, due_at=found.at, detail="too late")
        else:
            await self._claim(job, slot, found.at, fence)

    async def _claim(self, job: Job, slot: str, due_at: float, fence: int, *, taken_over: bool = False) -> None:
        now_s = self._clock.now_s()
        attempt = await self._slots.claim(job.name, slot, self._owner, fence, now_s, due_at=due_at)
        if attempt is None:
            return
        run = Run(
            job=job.name, slot=slot, due_at=due_at, attempt=attempt, fence=fence, by_hand=slot.startswith(HAND)
        )  # fmt: skip
        if self.leader.fence != fence:
            return  # lost meanwhile: the row stays running, under a fence that the next leader's is above
        if taken_over and attempt > job.tries:
            # A slot that takes every leader down with it must end.
            await self._ended(job, run, f"its leader went away {attempt - 1} times")
            return
        self._running[job.name] = asyncio.create_task(self._work(job, run), name=f"job {job.name}")

    async def _work(self, job: Job, run: Run) -> None:
        try:
            error = await self._worked(job, run)
            await self._ended(job, run, error)
        finally:
            self._running.pop(job.name, None)

    async def _worked(self, job: Job, run: Run) -> str:
        """Do the work within its limit; "" or what went wrong."""
        work = asyncio.ensure_future(job.work(run))
        limit = asyncio.ensure_future(self._clock.sleep(job.limit_s))
        try:
            await asyncio.wait((work, limit), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return f"not done after {job.limit_s:.0f} s"
            await work
        except Exception as error:
            log.exception("job %s %s failed", job.name, run.slot)
            return f"{type(error).__name__}: {error}"[:500]
        finally:
            await end((work, limit))
        return ""

    async def _ended(self, job: Job, run: Run, error: str) -> None:
        now_s = self._clock.now_s()
        self._counts.job_runs[job.name, "failed" if error else "done"] += 1
        retry_at = job.retry_at(run, now_s) if error else None

        async def finish() -> None:
            kept = await self._slots.finish(job.name, run.slot, run.fence, now_s, error=error, retry_at=retry_at)
            if not kept:
                return  # a later leader has it; its word counts
            if not error:
                over = self._alert(job, run.slot, "runs again")
                await self._owe(lambda: self._desk.resolve(over))
            elif retry_at is None:
                lost = self._alert(job, run.slot, error, tries=run.attempt)
                await self._owe(lambda: self._desk.fire(lost))

        await self._owe(finish)

    # -- telling --------------------------------------------------------------------------------------------------

    async def _tell_missed(self, job: Job, slot: str, found: Due) -> None:
        """Too late for all of them: a condition that the next run ends. Where the latest is made up for now, that others
        never will be is over and done: told as a moment, else a run of a second would end it before anybody heard of it."""
        why = f"{found.passed_over} earlier runs were missed and are not made up for"
        missed = self._alert(job, slot, why)
        facts = {**missed.facts, "passed_over": found.passed_over}
        if not found.late:
            missed = replace(missed, moment=True, at=found.at)  # the same, whichever leader tells it
        missed = replace(missed, facts=facts)
        await self._owe(lambda: self._desk.fire(missed))

    def _alert(self, job: Job, slot: str, why: str, tries: int = 0) -> Alert:
        now_s = self._clock.now_s()
        facts = {"job": job.name, "slot": slot, "why": why, "tries": tries, "next_at": job.cron.next_after(now_s)}
        return Alert(kind=AlertKind.JOB_MISSED, subject=job.name, severity=Severity.WARN, at=now_s, facts=facts)

    async def _owe(self, act: Callable[[], Awaitable[object]]) -> None:
        self._owed.append(act)
        with contextlib.suppress(StoreUnavailable):
            await self._pay()

    async def _pay(self) -> None:
        """Do what is owed, oldest first. Raises StoreUnavailable; the rest then waits."""
        while self._owed:
            act = self._owed.popleft()
            try:
                await act()
            except BaseException:
                self._owed.appendleft(act)
                raise

    # -- ticks and alarms -----------------------------------------------------------------------------------------

    def _start_ticks(self, fence: int) -> None:
        now_s = self._clock.monotonic_s()
        for tick in self._ticks.values():
            name = f"tick {tick.name}"
            if name not in self._running and now_s - self._ticked.get(name, float("-inf")) >= tick.every_s:
                self._ticked[name] = now_s
                self._running[name] = asyncio.create_task(self._tick(name, tick, fence), name=name)

    async def _tick(self, name: str, tick: Tick, fence: int) -> None:
        try:
            await tick.work(fence)
        except StoreUnavailable as error:
            log.warning("%s waits: %s", name, error)
        except Exception:
            log.exception("%s failed", name)
        finally:
            self._running.pop(name, None)

    def _next_tick_s(self) -> float:
        return min((tick.every_s for tick in self._ticks.values()), default=RENEW_S)

    def _set_alarms(self) -> AsyncIOScheduler:
        defaults = {"coalesce": True, "max_instances": 1, "misfire_grace_time": MISFIRE_GRACE_S}
        alarms = AsyncIOScheduler(timezone="UTC", job_defaults=defaults)
        for job in self.jobs.values():
            alarms.add_job(self.look, Alarm(job.cron, self._clock), id=job.name)
        alarms.start()
        return alarms

    async def _abandon(self) -> None:
        """Stop what runs here: this process leads no longer, or under another fence."""
        if self._alarms is not None:
            self._alarms.shutdown(wait=False)
            self._alarms = None
        await end(self._running.values(), within_s=STUCK_S)


class Alarm(BaseTrigger):  # type: ignore[misc]
    """A job's next moment on the fleet's clock, as APScheduler wants it: on the machine's."""

    def __init__(self, cron: Cron, clock: Clock) -> None:
        self._cron, self._clock = cron, clock

    def get_next_fire_time(self, _previous: datetime | None, now: datetime) -> datetime:
        here = self._clock.now_s()
        wait_s = self._clock.real_s(self._cron.next_after(here) - here)
        return now + timedelta(seconds=min(ALARM_CAP_S, max(0.0, wait_s)) + 0.05)


def told(run: JobRun) -> dict[str, Any]:
    """A run as plain values, for people and for JSON."""
    return {
        "slot": run.slot, "state": run.state.value, "due_at": run.due_at, "tries": run.tries, "detail": run.detail,
        "started_at": run.started_at, "ended_at": run.ended_at, "retry_at": run.retry_at,
    }  # fmt: skip

"""Which jobs run by the clock, joined to a service: one line each.

A job goes into `jobs_of`, periodic work of the leader without slots into `ticks_of`.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from base.clock import Clock
from console.jobs_api import ClockJobs, JobRefused
from monitor.alerts.removed import Named, end_removed
from monitor.feedback_watch import FeedbackWatch
from monitor.jobs import Job, JobRun, Run, Tick
from monitor.schedule import Schedule, told
from pointsman import feedbackwork, graywork
from pointsman.assemble import Service
from pointsman.nightly import evaluate_job
from pointsman.reporting import report_job
from pointsman.retention import forget_old
from pointsman.telling import heartbeat
from pointsman.watchwork import hourly_watch
from store.redis_folding import RedisFolding
from store.sql_jobs import SqlJobs
from store.sql_notices import SqlNotices
from store.sql_retention import SqlRetention

log = logging.getLogger("pointsman")
REMOVED_S = 60.0


def schedule_of(service: Service) -> Schedule:
    """The clock jobs of this service; `run` it in the background."""
    # One for both: the day that is closed while complaints burst must not take the burst for over.
    complaints = feedbackwork.feedback_watch(service)
    jobs = jobs_of(service, complaints)
    return Schedule(
        jobs,
        service.lease,
        SqlJobs(service.engine),
        service.boot_id,
        service.clock,
        service.desk,
        ticks_of(service, complaints, named_of(service, jobs)),
        service.counts,
    )


def jobs_of(service: Service, complaints: FeedbackWatch) -> Sequence[Job]:
    """What runs at set times."""
    when = service.settings.monitor.cron
    nights = (evaluate_job(service), report_job(service)) if service.settings.nightly.enabled else ()
    watch = hourly_watch(service)
    return (
        Job(name="hourly", cron=when("hourly"), work=watch.work, catch_up_s=2 * 3_600.0, backoff_s=60.0),
        Job(name="feedback", cron=when("feedback"), work=complaints.close_day),
        Job(name="retention", cron=when("retention"), work=_retention(service)),
        Job(name="heartbeat", cron=when("heartbeat"), work=heartbeat(service)),
        *nights,
    )


def ticks_of(service: Service, complaints: FeedbackWatch, named: Named) -> Sequence[Tick]:
    """What the leader repeats."""
    folding = RedisFolding(service.link, service.clock, lambda: service.guard.models)
    notices = SqlNotices(service.engine)
    return (
        Tick(name="gray", every_s=graywork.TICK_S, work=graywork.gray_keeper(service).tick),
        Tick(name="complaints", every_s=feedbackwork.TICK_S, work=lambda _fence: complaints.tick()),
        Tick(
            name="removed",
            every_s=REMOVED_S,
            work=lambda _fence: end_removed(notices, service.desk, named, service.clock),
        ),
        Tick(name="folding", every_s=60.0, work=lambda _fence: folding.fold()),
    )


def named_of(service: Service, jobs: Sequence[Job]) -> Named:
    """What the settings in force name."""
    topology = service.deps.topology
    return Named(
        models=tuple(topology.models),
        evaluated=service.settings.nightly.models or tuple(topology.models),
        routes=tuple(topology.routes),
        channels=[channel.name for channel in service.settings.alerts.all_channels()],
        jobs=[job.name for job in jobs],
    )


def _retention(service: Service) -> Any:
    rows, jobs = SqlRetention(service.engine), SqlJobs(service.engine)
    forget = partial(forget_old, rows, jobs, service.settings.retention, service.clock)

    async def work(_run: Run) -> None:
        log.info("retention: %d rows went", await forget())

    return work


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledJobs:
    """The console's view of the schedule."""

    schedule: Schedule
    slots: SqlJobs
    clock: Clock
    told_of: Callable[[float], Awaitable[object]] | None = None
    """The night's report that a run at that moment would tell, or None; not given: nobody can tell."""

    def names(self) -> Sequence[str]:
        return tuple(self.schedule.jobs)

    async def jobs(self) -> Sequence[Mapping[str, Any]]:
        now_s = self.clock.now_s()
        rows = []
        for job in self.schedule.jobs.values():
            last = _newest(await self.slots.last(job.name, limit=20))
            rows.append(
                {
                    "job": job.name,
                    "cron": job.cron.expression,
                    "timezone": job.cron.zone,
                    "next_at": job.cron.next_after(now_s),
                    "last": told(last) if last is not None else None,
                }
            )
        return rows

    async def runs(self, name: str, limit: int) -> Sequence[Mapping[str, Any]]:
        return [told(run) for run in await self.slots.last(name, limit=limit)]

    async def ask(self, name: str, actor: str) -> str:
        if name == "report" and self.told_of is not None and not await self.told_of(self.clock.now_s()):
            raise JobRefused(
                "no_night", "no night of the last 24 hours has ended with a report: there is nothing to tell yet"
            )
        return await self.schedule.ask(name, actor)


def _newest(runs: Sequence[JobRun]) -> JobRun | None:
    return next((run for run in runs if run.tries or run.detail), None)


_jobs: type[ClockJobs] = ScheduledJobs

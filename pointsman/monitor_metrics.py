"""What Prometheus may know of the monitor: what it found, asked and told in this process, and what waits in the fleet.

Counters are this process's own (monitor/counts.py). Gauges of what waits are read from the database every 15 s by each
process that has the monitor's role, so any of them may be scraped; while the database is away the last ones stand, and
`pointsman_monitor_read_timestamp` stops.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import Clock
from breaker.ports import StoreUnavailable
from monitor.alerts.budget import MINUTE_S, NO_ROBOT
from monitor.alerts.mute import Window, muted
from monitor.counts import MonitorCounts
from monitor.jobs import RunState
from monitor.report.document import UnreadableReport, from_document
from store.sql_alert_queue import Queue, queues
from store.sql_anomalies import SqlAnomalies
from store.sql_jobs import SqlJobs
from store.sql_notices import SqlNotices
from store.sql_outbox import SqlOutbox
from store.sql_reports import SqlReports

log = logging.getLogger("pointsman")
EVERY_S = 15.0
NOTHING = Queue(letters=0, oldest_at=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightGauge:
    """One model in the newest report; ratios 0..1, `baseline` None without one."""

    rate: float
    baseline: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What the database said last. Moments are seconds of the fleet's clock."""

    read_at: float = 0.0
    queues: Mapping[str, Queue] = field(default_factory=dict)
    posts: Mapping[str, int] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    incidents: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By severity and by why they are not told ("": they are)."""
    anomalies: int = 0
    jobs: Mapping[str, float] = field(default_factory=dict)
    """When each job was last done."""
    night_at: float = 0.0
    night: Mapping[str, NightGauge] = field(default_factory=dict)


class MonitorCollector(Collector):
    """Registers itself in `registry`, once per process; `waiting` and `channels` are of the settings in force."""

    def __init__(self, registry: CollectorRegistry, counts: MonitorCounts, clock: Clock) -> None:
        self._counts, self._clock = counts, clock
        self.waiting = Waiting()
        self.channels: Sequence[str] = ()
        self.leads: Callable[[], bool] = lambda: False
        registry.register(self)

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield _counted("alert_deliveries", "Messages tried", ("channel", "result"), counts.deliveries)
        yield _counted("alert_notices", "Messages decided", ("kind", "why"), counts.notices)
        yield _counted("findings", "What the hourly watch found", ("kind", "model", "sure"), counts.findings)
        yield _counted("evaluation_answers", "Answers to suite prompts", ("model", "outcome"), counts.answers)
        yield _counted("job_runs", "Runs of clock jobs", ("job", "result"), counts.job_runs)
        yield _gauge("monitor_leads", "1 while this process runs the clock jobs", (), {(): float(self.leads())})
        yield from self._of_channels()
        yield from self._of_fleet()

    def _of_channels(self) -> Iterator[Metric]:
        here, now_s, names = self.waiting, self._clock.now_s(), self.channels
        owed = {name: here.queues.get(name, NOTHING) for name in names}
        ages = {(name,): now_s - q.oldest_at if q.letters else 0.0 for name, q in owed.items()}
        channel = ("channel",)
        yield _gauge("alert_letters", "Messages owed", channel, {(n,): float(q.letters) for n, q in owed.items()})
        yield _gauge("alert_oldest_letter_seconds", "Age of the oldest message owed", channel, ages)
        posts = {(name,): float(here.posts.get(name, 0)) for name in names}
        yield _gauge("alert_posts_last_minute", "Posts of the fleet, against the budget", channel, posts)
        broken = {(name,): float(name in here.broken) for name in names}
        yield _gauge("alert_robot_broken", "1 while the robot refuses us", channel, broken)

    def _of_fleet(self) -> Iterator[Metric]:
        here = self.waiting
        told = {key: float(count) for key, count in here.incidents.items()}
        yield _gauge("incidents_open", "Conditions that hold", ("severity", "held"), told)
        yield _gauge("anomalies_listed", "Models on the anomaly list", (), {(): float(here.anomalies)})
        done = {(job,): at for job, at in here.jobs.items()}
        yield _gauge("job_done_timestamp", "When the job was last done", ("job",), done)
        yield _gauge("nightly_report_timestamp", "When the newest report was made", (), {(): here.night_at})
        rates = {(model,): one.rate for model, one in here.night.items()}
        yield _gauge("nightly_repeat_ratio", "Repeats in the newest report", ("model",), rates)
        pinned = {(model,): one.baseline for model, one in here.night.items() if one.baseline is not None}
        yield _gauge("nightly_baseline_ratio", "The baseline it is held against", ("model",), pinned)
        yield _gauge("monitor_read_timestamp", "When these were read", (), {(): here.read_at})


K = TypeVar("K", bound=tuple[str, ...])


def _counted(name: str, what: str, labels: Sequence[str], counter: Mapping[K, int]) -> Metric:
    family = CounterMetricFamily(f"pointsman_{name}", what, labels=labels)
    for key, times in list(counter.items()):
        family.add_metric(key, times)
    return family


def _gauge(name: str, what: str, labels: Sequence[str], values: Mapping[K, float]) -> Metric:
    family = GaugeMetricFamily(f"pointsman_{name}", what, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads what waits, for `collector`, again and again."""

    collector: MonitorCollector
    engine: AsyncEngine
    clock: Clock
    jobs: Sequence[str]
    windows: Sequence[Window]

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                self.collector.waiting = await self.once()
            except StoreUnavailable as error:
                log.info("the monitor's metrics stand still: %s", error)
            except Exception:
                log.exception("the monitor's metrics were not read")
            await self.clock.sleep(EVERY_S / self.clock.real_s(1.0))

    async def once(self) -> Waiting:
        """Raises StoreUnavailable."""
        now_s = self.clock.now_s()
        notices, outbox = SqlNotices(self.engine), SqlOutbox(self.engine)
        open_ = [one for one in await notices.waiting() if one.firing]
        mutes = muted(open_, await notices.silences(now_s), self.windows, self.clock.real_s(now_s))
        held = Counter((one.severity.value, mutes[one.id].value if one.id in mutes else "") for one in open_)
        robots = await outbox.robots()
        night_at, night = await self._night()
        return Waiting(
            read_at=now_s,
            queues=await queues(self.engine),
            posts=await outbox.posts(now_s - MINUTE_S / self.clock.real_s(1.0)),
            broken=frozenset(name for name in robots if robots.get(name, NO_ROBOT).broken_at is not None),
            incidents=dict(held),
            anomalies=len(await SqlAnomalies(self.engine).listed()),
            jobs=await self._done(),
            night_at=night_at,
            night=night,
        )

    async def _done(self) -> Mapping[str, float]:
        slots, found = SqlJobs(self.engine), {}
        for job in self.jobs:
            done = (run.ended_at for run in await slots.last(job, limit=10) if run.state is RunState.DONE)
            if (newest := max((at for at in done if at), default=None)) is not None:
                found[job] = newest
        return found

    async def _night(self) -> tuple[float, Mapping[str, NightGauge]]:
        reports = SqlReports(self.engine)
        document = await reports.report(entries[0].day) if (entries := await reports.reports(1)) else None
        try:
            report = from_document(document) if document is not None else None
        except UnreadableReport:
            report = None
        if report is None:
            return 0.0, {}
        models = {
            one.model: NightGauge(rate=one.total.ratio, baseline=one.baseline_rate if one.baseline else None)
            for one in report.models
        }
        return report.made_at, models

"""The feedback loop joined to a service: its tick, the daily job, and the console's view of the anomaly list."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from zoneinfo import ZoneInfo

from console.anomalies_api import Anomalies
from monitor.anomalies import AnomalyStore
from monitor.feedback_watch import FeedbackWatch
from pointsman.assemble import Service
from store.redis_windows import RedisCounts
from store.sql_anomalies import SqlAnomalies
from store.sql_feedback import SqlComplaints
from store.sql_rollups import SqlRollups

TICK_S = 30.0
"""A burst is ten minutes long; half a minute more changes nothing about it."""


def feedback_watch(service: Service) -> FeedbackWatch:
    """The watch of this process."""
    settings = service.settings
    return FeedbackWatch(
        tuple(service.deps.topology.models),
        SqlComplaints(service.engine),
        SqlAnomalies(service.engine),
        SqlRollups(service.engine),
        RedisCounts(service.link, service.clock),
        lambda model: service.guard.snapshot(model).watermark,
        service.evidence,
        service.desk,
        settings.breaker,
        settings.feedback,
        service.clock,
        ZoneInfo(settings.monitor.timezone),
    )


def anomalies_of(service: Service) -> "ListedAnomalies":
    """What the console sees and does."""
    return ListedAnomalies(
        names=tuple(service.deps.topology.models), store=SqlAnomalies(service.engine), watch=feedback_watch(service)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAnomalies:
    """The console's port over the list."""

    names: Sequence[str]
    store: AnomalyStore
    watch: FeedbackWatch

    def models(self) -> Sequence[str]:
        return self.names

    async def listed(self) -> Sequence[Mapping[str, Any]]:
        return [asdict(entry) for entry in await self.store.listed()]

    async def history(self, model: str | None, limit: int) -> Sequence[Mapping[str, Any]]:
        return [asdict(entry) for entry in await self.store.anomalies(model, limit)]

    async def dismiss(self, model: str, actor: str, why: str) -> bool:
        return await self.watch.dismiss(model, actor, why) is not None


_anomalies: type[Anomalies] = ListedAnomalies

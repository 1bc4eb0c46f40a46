"""The hourly watch joined to a service: the job, and the console's view of what it keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from base.clock import Clock
from console.watch_api import Watched
from monitor.alerts.alert import AlertKind
from monitor.hourly import HourlyWatch
from monitor.rollup import DAY_S, HOUR_S, RollUp, Rollup
from monitor.watch import SCENE, WEEK_S, FindingStore, figures, profile
from pointsman.assemble import Service
from pointsman.graywork import gray_keeper
from store.redis_windows import RedisCounts
from store.sql_findings import SqlFindings, SqlVersions
from store.sql_rollups import SqlRollups

KINDS = tuple(
    kind.value for kind in (AlertKind.HOURLY, AlertKind.SCENE, AlertKind.PARSE_TREND, AlertKind.MODEL_CHANGED)
)
PROFILE_S = 28 * DAY_S


def hourly_watch(service: Service) -> HourlyWatch:
    """The job of every hour."""
    settings, models = service.settings, service.deps.topology.models
    asked = {name: [endpoint.upstream_model for endpoint in model.endpoints] for name, model in models.items()}
    hours = SqlRollups(service.engine)
    zone = ZoneInfo(settings.monitor.timezone)
    return HourlyWatch(
        asked,
        RollUp(tuple(models), RedisCounts(service.link, service.clock), hours, zone),
        hours,
        SqlFindings(service.engine),
        SqlVersions(service.engine),
        service.evidence,
        service.desk,
        settings.breaker,
        settings.monitor,
        service.clock,
        gray_keeper(service).version_changed,
        service.counts,
    )


def watched_of(service: Service) -> "WatchedFleet":
    """What the console shows of it."""
    return WatchedFleet(
        names=tuple(service.deps.topology.models),
        rollups=SqlRollups(service.engine),
        found=SqlFindings(service.engine),
        clock=service.clock,
        zone=ZoneInfo(service.settings.monitor.timezone),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFleet:
    """Reads only."""

    names: Sequence[str]
    rollups: SqlRollups
    found: FindingStore
    clock: Clock
    zone: ZoneInfo

    def models(self) -> Sequence[str]:
        return self.names

    async def findings(self, model: str | None, kind: str | None, since: float, limit: int) -> Sequence[dict[str, Any]]:
        now_s = self.clock.now_s()
        asked = AlertKind(kind) if kind is not None else None
        rows = await self.found.findings(model=model, kind=asked, since=since, limit=limit)
        return [asdict(row) | {"standing": row.until > now_s} for row in rows]

    async def hours(self, model: str, hours: int) -> Mapping[str, Any]:
        end = self.clock.now_s() // HOUR_S * HOUR_S
        rows = await self.rollups.hours(end - hours * HOUR_S, end, model=model)
        whole = [row for row in rows if row.scope == ""]
        scenes: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            if row.scope.startswith(SCENE):
                scenes.setdefault(row.scope.removeprefix(SCENE), []).append(_shown(row))
        four_weeks = await self.rollups.hours(end - PROFILE_S, end, model=model, scope="")
        newest = whole[-1].starts_at if whole else 0.0
        week_ago = next((row for row in four_weeks if row.starts_at == newest - WEEK_S), None)
        return {
            "hours": [_shown(row) for row in whole],
            "scenes": scenes,
            "profile": profile(four_weeks, self._offset_s()),
            "same_hour_last_week": _shown(week_ago) if week_ago is not None else None,
        }

    async def days(self, model: str, days: int) -> Sequence[Mapping[str, Any]]:
        now_s = self.clock.now_s()
        return [
            _shown(row) for row in await self.rollups.days(now_s - days * DAY_S, now_s + DAY_S, model=model, scope="")
        ]

    def _offset_s(self) -> float:
        """How far the zone is from UTC now; an hour's shift in summer moves the profile by a bar, not more."""
        real = min(self.clock.real_s(self.clock.now_s()), 32_503_680_000.0)
        shift = datetime.fromtimestamp(real, UTC).astimezone(self.zone).utcoffset()
        return shift.total_seconds() if shift is not None else 0.0


def _shown(row: Rollup) -> dict[str, Any]:
    c = row.counts
    return asdict(figures(row)) | {
        "tokens_in": c.tokens_in,
        "tokens_out": c.tokens_out,
        "structured": c.structured,
        "repaired": c.repaired,
        "fingerprints": dict(row.fingerprints),
    }


_watched: type[Watched] = WatchedFleet

"""The operators' room and the clock's room of one process: their door, pages, admin API, alerts, probes and jobs.

Imported by a process whose role has them; a router alone never loads it.
"""

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from console.accounted import Accounted
from console.alerts_api import alert_routes
from console.anomalies_api import anomaly_routes
from console.api import build_admin
from console.config_api import config_routes
from console.config_ports import Configuration
from console.gatekeeper import Gate
from console.gray_api import gray_routes
from console.jobs_api import jobs_routes
from console.records_api import records_routes
from console.switches_api import switches_routes
from console.watch_api import watch_routes
from monitor.probes.runner import Probed, ProbeRunner
from monitor.schedule import Schedule
from pointsman.alert_room import alert_room_of, open_pages
from pointsman.assemble import Service
from pointsman.breaker_alerts import ConditionWatch
from pointsman.clockwork import ScheduledJobs, schedule_of
from pointsman.console import Others, fleet_of, operators_app
from pointsman.doorkeeper import HeldTokens, keep_tokens
from pointsman.feedbackwork import anomalies_of
from pointsman.fleet import SqlAudit
from pointsman.graywork import grays_of
from pointsman.monitor_metrics import MonitorCollector, Reader
from pointsman.reporting import report_of_the_night
from pointsman.switchwork import FleetSwitches
from pointsman.telling import Telling, start_telling
from pointsman.watchwork import KINDS, watched_of
from router.topology import Topology
from store.redis_switches import RedisSwitches
from store.sql_admin import SqlAdminLog
from store.sql_admin_tokens import SqlAdminTokens
from store.sql_console import SqlRecords
from store.sql_jobs import SqlJobs


class Operators:
    """The operators' door and what the monitor runs, all of it by the settings in force: a reload starts it anew."""

    def __init__(self, service: Service, tokens: HeldTokens) -> None:
        self._service, self._tokens = service, tokens
        self._running = AsyncExitStack()
        self._app: Any = None
        self.configuration: Configuration | None = None
        self._collector = MonitorCollector(service.deps.metrics.registry, service.counts, service.clock)
        service.stack.push_async_callback(self._end)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def start(self) -> None:
        """End what ran by the settings before, and begin by those in force. Raises StartError."""
        await self._end()
        # The same service, with a stack of its own that can be closed while the service goes on.
        service = replace(self._service, stack=self._running)
        schedule = schedule_of(service)
        self._app = self._door(service, schedule, await start_telling(service))
        _start_probes(service)
        deps = service.deps
        conditions = ConditionWatch(service.guard, lambda: deps.topology, service.desk, service.clock, deps.rests)
        service.background(conditions.run(), "conditions")
        service.background(schedule.run(), "clock jobs")
        self._read_metrics(service, schedule)

    def _read_metrics(self, service: Service, schedule: Schedule) -> None:
        alerts, zone = service.settings.alerts, service.settings.monitor.timezone
        self._collector.channels = [channel.name for channel in alerts.all_channels()]
        self._collector.leads = lambda: schedule.leader.fence is not None
        windows = tuple(window.window(zone) for window in alerts.maintenance)
        reader = Reader(
            collector=self._collector,
            engine=service.engine,
            clock=service.clock,
            jobs=tuple(schedule.jobs),
            windows=windows,
        )
        service.background(reader.run(), "monitor metrics")

    async def _end(self) -> None:
        running, self._running = self._running, AsyncExitStack()
        await running.aclose()

    def _door(self, service: Service, schedule: Schedule, telling: Telling) -> Any:
        """Pages and admin JSON. Raises StartError."""
        service.background(keep_tokens(self._tokens, SqlAdminTokens(service.engine)), "admin tokens")
        fleet = fleet_of(service)
        audit = Accounted(SqlAudit(log=SqlAdminLog(service.engine), clock=service.clock))
        gate = Gate(self._tokens)
        alerts = alert_room_of(service, telling)
        jobs = ScheduledJobs(
            schedule=schedule,
            slots=SqlJobs(service.engine),
            clock=service.clock,
            told_of=partial(report_of_the_night, service.engine),
        )
        switches = FleetSwitches(store=RedisSwitches(service.link), deps=service.deps, clock=service.clock)
        assert self.configuration is not None
        others = Others(
            alerts=alerts,
            configuration=self.configuration,
            grays=grays_of(service),
            anomalies=anomalies_of(service),
            watched=watched_of(service),
            switches=switches,
        )
        more = [
            jobs_routes(jobs, audit, gate),
            alert_routes(alerts, audit, gate),
            watch_routes(others.watched, gate, KINDS),
            gray_routes(others.grays, audit, gate),
            anomaly_routes(others.anomalies, audit, gate),
            config_routes(self.configuration, audit, gate),
            records_routes(SqlRecords(service.engine), gate),
            switches_routes(switches, audit, gate),
        ]
        app = build_admin(fleet, audit, service.transitions, gate, more)
        app.router.routes.extend(open_pages(alerts, audit, telling))

        @app.get("/healthz")
        async def healthz() -> dict[str, str]:
            return {"status": "ok"}

        @app.get("/metrics")
        async def metrics() -> Response:
            # The clients' port tells the same; a monitor alone has no such port.
            return Response(service.deps.metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

        return operators_app(service, fleet, self._tokens, jobs, others, app)


def probed_of(topology: Topology) -> dict[str, Probed]:
    """How each model is asked for a probe."""
    return {
        name: Probed(endpoint=model.endpoints[0], least_tokens=model.least_tokens)
        for name, model in topology.models.items()
    }


def _start_probes(service: Service) -> None:
    every_s = service.settings.monitor.sample_probe_every_s
    probes = ProbeRunner(
        service.upstream,
        service.guard,
        lambda: probed_of(service.deps.topology),
        service.clock,
        service.deps.rng,
        sample_every_s=every_s,
    )
    service.background(probes.run(), "probes")

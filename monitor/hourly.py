"""The hourly watch: rolls the counts up, reads the last hour, and tells what it found.

Acts: over the stores, the evidence and the desk; what is a finding is decided in watch.py and versions.py.
In:  the moment the hour was due.  Out: hourly and daily rows, findings, evidence for the breaker, alerts.
Doing the same hour twice changes nothing: rows are sums, findings and evidence have ids, alerts a key.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from base.clock import Clock
from breaker.evidence import Evidence, EvidenceKind
from breaker.policy import BreakerPolicy
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.counts import MonitorCounts
from monitor.jobs import Run
from monitor.policy import MonitorPolicy
from monitor.ports import AlertDesk
from monitor.rollup import HOUR_S, RollUp, RollupStore
from monitor.versions import VersionStore, change_finding, changes
from monitor.watch import WEEK_S, Finding, FindingStore, comparable, hour_finding, parse_finding, scene_findings

EVIDENCE = {AlertKind.HOURLY: EvidenceKind.HOURLY, AlertKind.SCENE: EvidenceKind.SCENE}
STANDING = (AlertKind.HOURLY, AlertKind.SCENE, AlertKind.PARSE_TREND)
"""Kinds whose alert lasts until no finding marks the model any more; a changed version is a moment."""


class EvidenceBox(Protocol):
    """Where findings become evidence. Raises breaker.ports.StoreUnavailable."""

    async def add(self, evidence: Evidence) -> bool: ...


class HourlyWatch:
    """One per process; `work` is the job."""

    def __init__(
        self,
        asked: Mapping[str, Sequence[str]],
        rollup: RollUp,
        hours: RollupStore,
        findings: FindingStore,
        versions: VersionStore,
        evidence: EvidenceBox,
        desk: AlertDesk,
        breaker: BreakerPolicy,
        policy: MonitorPolicy,
        clock: Clock,
        on_change: Callable[[str, str, int], Awaitable[object]] | None = None,
        counts: MonitorCounts | None = None,
    ) -> None:
        """`asked`: of each model the name that each of its endpoints is asked for; `on_change` hears of a model's new
        version, and under which fence that was found."""
        self._asked, self._rollup, self._hours, self._findings = asked, rollup, hours, findings
        self._versions, self._evidence, self._desk = versions, evidence, desk
        self._breaker, self._policy, self._clock = breaker, policy, clock
        self._on_change, self._counts = on_change, counts or MonitorCounts()
        self._settled: set[str] = set()
        """Models whose ended findings were all resolved once by this process."""

    async def work(self, run: Run) -> None:
        """Roll up, then judge the hour that ended before `run` was due. Raises StoreUnavailable."""
        now_s = self._clock.now_s()
        await self._rollup.write(now_s)
        hour = (run.due_at // HOUR_S - 1) * HOUR_S
        for model in self._asked:
            for finding in await self._of_hour(model, hour, now_s):
                await self._tell(finding)
            await self._look_at_versions(model, hour, run.fence)
            await self._end_old(model, now_s)

    async def _of_hour(self, model: str, hour: float, now_s: float) -> list[Finding]:
        since = hour - max(self._policy.trend_hours - 1, 3) * HOUR_S
        rows = [
            *await self._hours.hours(hour - WEEK_S, hour - WEEK_S + 1, model=model, scope=""),
            *await self._hours.hours(since, hour + 1, model=model),
        ]
        by_scope = {(row.scope, row.starts_at): row.counts for row in rows}
        alike = comparable(rows, hour)
        whole = hour_finding(model, hour, alike, now_s, self._breaker, self._policy)
        parse = parse_finding(model, hour, by_scope, now_s, self._policy)
        scenes = scene_findings(model, hour, alike, now_s, self._breaker, self._policy)
        return [finding for finding in (whole, parse, *scenes) if finding is not None]

    async def _look_at_versions(self, model: str, hour: float, fence: int) -> None:
        names = self._asked[model]
        found = await self._versions.seen(model, hour, hour + HOUR_S, self._policy.versions_sampled)
        seen = [replace(it, asked=names[it.endpoint]) for it in found if it.endpoint < len(names)]
        known = await self._versions.known(model)
        for version in changes(known, seen):
            await self._tell(change_finding(version, known, self._policy.abnormal_s))
            if self._on_change is not None:
                await self._on_change(model, version.name, fence)
        # Kept last: a process that dies before it has told finds the change again.
        await self._versions.keep(seen)

    async def _tell(self, finding: Finding) -> None:
        """File the finding, its evidence and its alert; a finding told before is told again, to no effect."""
        if await self._findings.add(finding):
            sure = "no" if finding.facts.get("sure") is False else "yes"
            self._counts.findings[finding.kind.value, finding.model, sure] += 1
        kind = EVIDENCE.get(finding.kind)
        if kind is not None:
            await self._evidence.add(
                Evidence(
                    id=finding.id,
                    kind=kind,
                    model=finding.model,
                    scene=finding.scene,
                    found_at=finding.at,
                    valid_until=finding.until,
                    numbers=tuple(finding.numbers.items()),
                )
            )
        await self._desk.fire(alert_of(finding))

    async def _end_old(self, model: str, now_s: float) -> None:
        """Resolve what no finding holds up any more; the desk ignores what is not open.

        Told for a day after it ended, in case the desk was away then. The first time also what ended longer ago: nobody
        knows how long no monitor ran, and what was open when it went would stay so for ever.
        """
        first = model not in self._settled
        recent = await self._findings.findings(model=model, since=0.0 if first else now_s - 2 * WEEK_S)
        standing = {(f.kind, f.scene) for f in recent if f.until > now_s}
        ended = {(f.kind, f.scene): f for f in reversed(recent) if f.kind in STANDING}
        for key, finding in ended.items():
            if key not in standing and (first or now_s - finding.until < 24 * HOUR_S):
                await self._desk.resolve(alert_of(finding, at=now_s))
        self._settled.add(model)


def alert_of(finding: Finding, at: float | None = None) -> Alert:
    """What a person is told of a finding."""
    severity = Severity.INFO if finding.kind is AlertKind.PARSE_TREND else Severity.WARN
    return Alert(
        kind=finding.kind,
        subject=finding.model,
        severity=severity,
        at=finding.at if at is None else at,
        model=finding.model,
        scene=finding.scene,
        facts={**finding.numbers, **finding.facts},
    )

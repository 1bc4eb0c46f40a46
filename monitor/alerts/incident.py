"""One condition's life: opened by the first finding, revised by later ones, closed once.

Decides; never reads a clock or a store.
In:  the incident that is open for a key (or None), and an Alert.
Out: the incident's next revision with what happened in one word; None when nothing is to be written.
Whatever comes late is recognised by its moment: an older finding never overwrites a newer one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from monitor.alerts.alert import Alert, AlertKind, Severity

RANKS = {Severity.INFO: 0, Severity.WARN: 1, Severity.CRITICAL: 2}


class Event(StrEnum):
    """What happened to an incident, in its timeline."""

    FIRED = "fired"
    CHANGED = "changed"  # another stage or severity
    REFRESHED = "refreshed"  # new figures, the same stage
    RESOLVED = "resolved"
    ACKED = "acked"
    UNACKED = "unacked"  # given back by hand
    ACK_LIFTED = "ack_lifted"  # it became worse after somebody had taken it
    NOTED = "noted"
    TOLD = "told"
    NOBODY_TOLD = "nobody_told"  # it was due, and no channel is there for it
    ESCALATED = "escalated"
    LATE = "late"  # an older move, filed after a newer one


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One condition from its first finding on. `stage` is its level or severity; `told_*` is what people know of it.

    `peak_ratio` is the worst ratio seen (0..1) and `samples` the replies it was taken from. `settled`: closed, and
    nothing is owed to anybody any more.
    """

    id: int = 0
    key: str
    kind: AlertKind
    subject: str
    model: str
    scene: str
    severity: Severity
    peak_severity: Severity
    stage: str
    opened_at: float
    updated_at: float
    facts: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 1
    moment: bool = False
    resolved_at: float | None = None
    peak_ratio: float = 0.0
    samples: int = 0
    acked_at: float | None = None
    acked_by: str = ""
    told_revision: int = 0
    told_at: float | None = None
    told_stage: str = ""
    told_severity: Severity | None = None
    escalation: int = 0
    escalated_at: float | None = None
    settled: bool = False

    @property
    def ref(self) -> str:
        """The short name people say: it stands in every message."""
        return f"A{self.id}"

    @property
    def firing(self) -> bool:
        return self.resolved_at is None

    @property
    def announced(self) -> bool:
        return self.told_revision > 0

    @property
    def open_key(self) -> str | None:
        """What may exist only once: the key while it is open; a moment keeps its own for good."""
        if self.moment:
            return f"{self.key}@{self.opened_at:.3f}"
        return self.key if self.firing else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The incident as it is to be written, and the event that says why."""

    incident: Incident
    event: Event


def fired(here: Incident | None, alert: Alert) -> Change | None:
    """The condition holds at `alert.at`."""
    if here is None:
        return Change(incident=_opened(alert), event=Event.FIRED)
    if here.moment or alert.at < here.updated_at or not here.firing:
        return None
    ratio, samples = _figures(alert)
    stage = _stage(alert)
    worse = RANKS[alert.severity] > RANKS[here.severity]
    next_ = replace(
        here,
        revision=here.revision + 1,
        severity=alert.severity,
        peak_severity=max(here.peak_severity, alert.severity, key=RANKS.__getitem__),
        stage=stage,
        updated_at=alert.at,
        facts=dict(alert.facts),
        peak_ratio=max(ratio, here.peak_ratio),
        samples=samples if ratio > here.peak_ratio else here.samples or samples,
    )
    if worse:
        # Whoever took it took the lesser trouble; the clock of the escalation starts anew.
        next_ = replace(next_, acked_at=None, acked_by="", escalation=0, escalated_at=None)
    if worse and here.acked_at is not None:
        return Change(incident=next_, event=Event.ACK_LIFTED)
    changed = (stage, alert.severity) != (here.stage, here.severity)
    return Change(incident=next_, event=Event.CHANGED if changed else Event.REFRESHED)


def resolved(here: Incident | None, alert: Alert) -> Change | None:
    """The condition holds no more since `alert.at`; of one that is not open nothing is written."""
    if here is None or here.moment or not here.firing or alert.at < here.opened_at:
        return None
    ratio, samples = _figures(alert)
    next_ = replace(
        here,
        revision=here.revision + 1,
        updated_at=max(alert.at, here.updated_at),
        resolved_at=max(alert.at, here.updated_at),
        facts={**here.facts, **alert.facts},
        peak_ratio=max(ratio, here.peak_ratio),
        samples=samples if ratio > here.peak_ratio else here.samples or samples,
    )
    return Change(incident=next_, event=Event.RESOLVED)


def _opened(alert: Alert) -> Incident:
    ratio, samples = _figures(alert)
    return Incident(
        key=alert.key,
        kind=alert.kind,
        subject=alert.subject,
        model=alert.model,
        scene=alert.scene,
        severity=alert.severity,
        peak_severity=alert.severity,
        stage=_stage(alert),
        opened_at=alert.at,
        updated_at=alert.at,
        resolved_at=alert.at if alert.passes else None,
        facts=dict(alert.facts),
        moment=alert.passes,
        peak_ratio=ratio,
        samples=samples,
    )


def _stage(alert: Alert) -> str:
    return str(alert.facts.get("level") or alert.severity)[:32]


def _figures(alert: Alert) -> tuple[float, int]:
    """`ratio` and `n` of the facts, where they are numbers."""
    ratio, n = alert.facts.get("ratio"), alert.facts.get("n")
    return (
        float(ratio) if isinstance(ratio, int | float) else 0.0,
        int(n) if isinstance(n, int | float) else 0,
    )

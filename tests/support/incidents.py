"""Incidents and alerts as tests want them."""

from dataclasses import replace
from typing import Any

from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.alerts.incident import Incident, fired

AT = 1_700_000_000.0


def alert(kind: AlertKind = AlertKind.SCENE, at: float = AT, **more: Any) -> Alert:
    given = {"kind": kind, "subject": "a", "model": "a", "scene": "", "severity": Severity.WARN, "at": at}
    return Alert(**{**given, **more})


def grave(at: float = AT, **more: Any) -> Alert:
    """A model that is out."""
    return alert(AlertKind.TRANSITION, at, severity=Severity.CRITICAL, **{"facts": {"level": "open"}, **more})


def incident(id: int, of: Alert | None = None, **more: Any) -> Incident:
    change = fired(None, of or alert())
    assert change is not None
    return replace(change.incident, id=id, **more)

"""The letter of a test message: what a person sends to see whether a channel works."""

from collections.abc import Mapping
from typing import Any

from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.alerts.decide import Group, Notice, Why
from monitor.alerts.incident import fired
from monitor.alerts.notify import body_of


def trial_body(channel: str, actor: str, now_s: float) -> Mapping[str, Any]:
    """As the notifier would have filed it; it belongs to no incident."""
    facts = {"channel": channel, "actor": actor}
    alert = Alert(kind=AlertKind.TEST, subject=channel, severity=Severity.INFO, at=now_s, facts=facts)
    change = fired(None, alert)
    assert change is not None
    notice = Notice(group=Group(key=f"test|{channel}"), why=Why.FIRST, at=now_s, firing=(change.incident,))
    return body_of(notice)

"""What is open about a name that the settings have no longer ends as removed, and nothing else does."""

import pytest

from monitor.alerts.alert import AlertKind
from monitor.alerts.removed import Named, removed
from tests.support.incidents import AT, alert, incident

NAMED = Named(models=("a", "b"), evaluated=("a",), routes=("chat",), channels=("wecom",), jobs={"hourly"})


@pytest.mark.parametrize(
    ("kind", "subject", "model", "what"),
    [
        pytest.param(AlertKind.TRANSITION, "gone", "gone", "model", id="a model"),
        pytest.param(AlertKind.SCENE, "gone", "gone", "model", id="a scene of it"),
        pytest.param(AlertKind.TRANSITION, "a", "a", "", id="a model that is there"),
        pytest.param(AlertKind.NIGHTLY, "b", "b", "model", id="a model that no night asks any more"),
        pytest.param(AlertKind.NIGHTLY, "a", "a", "", id="a model that is asked"),
        pytest.param(AlertKind.PHRASE_ONLY, "old", "", "route", id="a route"),
        pytest.param(AlertKind.PHRASE_ONLY, "chat", "", "", id="a route that is there"),
        pytest.param(AlertKind.ROBOT_BROKEN, "slack", "", "channel", id="a channel"),
        pytest.param(AlertKind.JOB_MISSED, "evaluate", "", "job", id="a job"),
        pytest.param(AlertKind.JOB_MISSED, "hourly", "", "", id="a job that is there"),
        pytest.param(AlertKind.STORE_DOWN, "Redis", "", "", id="no name of the settings"),
    ],
)
def test_an_incident_of_what_is_gone_is_resolved(kind: AlertKind, subject: str, model: str, what: str) -> None:
    here = incident(1, alert(kind, subject=subject, model=model, scene="qa" if kind is AlertKind.SCENE else ""))
    ended = removed([here], NAMED, AT + 60)
    assert [(one.key, one.at, one.facts) for one in ended] == ([(here.key, AT + 60, {"removed": what})] if what else [])


def test_what_is_over_is_left_alone() -> None:
    over = incident(1, alert(AlertKind.TRANSITION, subject="gone", model="gone"), resolved_at=AT)
    assert removed([over], NAMED, AT + 60) == []

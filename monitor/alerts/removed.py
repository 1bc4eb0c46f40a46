"""Incidents about what the settings name no longer: nobody will ever find them well again, so they end as removed.

Decides over records.  In: open incidents, the names of the settings in force.  Out: the alerts to resolve, each saying what
was removed.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from base.clock import Clock
from monitor.alerts.alert import Alert, AlertKind
from monitor.alerts.incident import Incident
from monitor.alerts.ports import NoticeBook
from monitor.ports import AlertDesk


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What the settings in force name."""

    models: Collection[str]
    evaluated: Collection[str]
    """Those that the nightly run asks."""
    routes: Collection[str]
    channels: Collection[str]
    jobs: Collection[str]


def removed(incidents: Iterable[Incident], named: Named, now_s: float) -> list[Alert]:
    """One for each open incident whose model, route, channel or job is gone; `facts["removed"]` says which of these."""
    subjects = {
        AlertKind.PHRASE_ONLY: ("route", named.routes),
        AlertKind.ROBOT_BROKEN: ("channel", named.channels),
        AlertKind.JOB_MISSED: ("job", named.jobs),
    }
    ended = []
    for here in incidents:
        models = named.evaluated if here.kind is AlertKind.NIGHTLY else named.models
        what, known = ("model", models) if here.model else subjects.get(here.kind, ("", ()))
        name = here.model or here.subject
        if here.firing and not here.moment and what and name not in known:
            ended.append(
                Alert(
                    kind=here.kind,
                    subject=here.subject,
                    severity=here.severity,
                    at=now_s,
                    model=here.model,
                    scene=here.scene,
                    facts={"removed": what},
                )
            )
    return ended


async def end_removed(book: NoticeBook, desk: AlertDesk, named: Named, clock: Clock) -> None:
    """Resolve them. Raises StoreUnavailable."""
    for alert in removed(await book.waiting(), named, clock.now_s()):
        await desk.resolve(alert)

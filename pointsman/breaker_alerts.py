"""Hands conditions to the alert desk: suspect detector, flapping, phrase-only routes, a silent Redis, endpoints that refuse us.

Every monitor process does it: the desk keeps one incident per condition, whoever fires it. A process fires what begins
and resolves what ends while it looks; at its start it knows nothing, so it also resolves what ended while nobody looked.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from base.clock import Clock
from breaker.conditions import STORE, Condition, ConditionKind
from breaker.fleet import FLEET
from breaker.guard import Guard
from breaker.levels import Level
from breaker.ports import StoreUnavailable
from breaker.share import phrase_only, without
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.ports import AlertDesk
from router.rests import Rests
from router.topology import Route, Topology

log = logging.getLogger("pointsman")
LOOK_S = 1.0
KINDS = {
    ConditionKind.DETECTOR_SUSPECT: (AlertKind.DETECTOR_SUSPECT, Severity.CRITICAL),
    ConditionKind.FLAPPING: (AlertKind.FLAPPING, Severity.WARN),
    ConditionKind.PHRASE_ONLY: (AlertKind.PHRASE_ONLY, Severity.CRITICAL),
    ConditionKind.STORE_DOWN: (AlertKind.STORE_DOWN, Severity.CRITICAL),
    ConditionKind.FORBIDDEN: (AlertKind.FORBIDDEN, Severity.WARN),
}
STANDING: Mapping[AlertKind, tuple[str, ...]] = {
    AlertKind.FORBIDDEN: ("others", "routes", "routes_out", "routes_mute"),
    AlertKind.PHRASE_ONLY: ("phrases",),
}
SUBJECTS = {FLEET: "fleet", STORE: "Redis"}
Key = tuple[ConditionKind, str]


def alert_of(condition: Condition, at: float) -> Alert:
    """The condition as an alert about a model, a route, the fleet or Redis."""
    kind, severity = KINDS[condition.kind]
    subject = SUBJECTS.get(condition.subject, condition.subject)
    model = condition.subject if condition.kind is ConditionKind.FLAPPING else ""
    if condition.kind is ConditionKind.FORBIDDEN:
        model = subject.rpartition(" #")[0]
        # Levels do not know of it: where every endpoint refuses us, the model is out without a move that tells so.
        severity = Severity.CRITICAL if dict(condition.numbers).get("others") == 0 else severity
    return Alert(kind=kind, subject=subject, severity=severity, at=at, model=model, facts=dict(condition.numbers))


def refusals(rests: Rests) -> list[Condition]:
    """Endpoints that refuse us, as conditions."""
    return [
        Condition(
            kind=ConditionKind.FORBIDDEN,
            subject=_endpoint(one.model, one.endpoint),
            numbers=(("status", float(one.status)), ("since", one.at), ("others", float(one.others))),
        )
        for one in rests.forbidden()
    ]


def who_answers(model: str, routes: Mapping[str, Route], levels: Mapping[str, Level]) -> Mapping[str, Any]:
    """In how many routes the model stands, in which of them nobody is left, and which of those have no phrases either."""
    mine = [route for route in routes.values() if any(one.model == model for one in route.candidates)]
    out = [route for route in mine if phrase_only(route.candidates, levels)]
    return {
        "routes": len(mine),
        "routes_out": [route.name for route in out],
        "routes_mute": [route.name for route in out if not route.speaks],
    }


def with_facts(alert: Alert, more: Mapping[str, Any]) -> Alert:
    return replace(alert, facts={**alert.facts, **more})


def standing(alert: Alert) -> object:
    """What of an alert that holds is worth telling the desk again: who answers instead changes while a vendor refuses us,
    and whether a route has phrases is a setting."""
    return tuple(str(alert.facts.get(name)) for name in STANDING.get(alert.kind, ()))


def _endpoint(model: str, endpoint: int) -> str:
    """As people count: the primary is number 1."""
    return f"{model} #{endpoint + 1}"


class ConditionWatch:
    """`once` looks and tells; `run` does so each second until cancelled."""

    def __init__(
        self,
        guard: Guard,
        topology: Callable[[], Topology],
        desk: AlertDesk,
        clock: Clock,
        rests: Rests | None = None,
    ) -> None:
        """`topology`: the one in force now; a reload may swap it."""
        self._guard, self._topology, self._desk, self._clock = guard, topology, desk, clock
        self._rests = rests or Rests()
        self._told: dict[Key, object] = {}

    async def once(self) -> None:
        """Raises StoreUnavailable; what was not told yet is told the next time."""
        alerts = self._alerts(self._clock.now_s())
        for key in self._known() | alerts.keys() | self._told.keys():
            alert = alerts.get(key)
            told = None if alert is None else standing(alert)
            if key in self._told and self._told[key] == told:
                continue
            if alert is not None:
                await self._desk.fire(alert)
            else:
                await self._desk.resolve(alert_of(Condition(kind=key[0], subject=key[1]), self._clock.now_s()))
            self._told[key] = told

    def _alerts(self, now_s: float) -> dict[Key, Alert]:
        """What holds now."""
        topology, refused = self._topology(), self._rests.refused()
        routes = {route.name: route.candidates for route in topology.routes.values()}
        found = self._guard.conditions(routes, refused=refused)
        levels = without(self._guard.levels(), refused)
        alerts = {one.key: alert_of(one, now_s) for one in found}
        for one in found:
            if one.kind is ConditionKind.PHRASE_ONLY:
                alerts[one.key] = with_facts(alerts[one.key], {"phrases": topology.routes[one.subject].speaks})
        for one in refusals(self._rests):
            alert = alert_of(one, now_s)
            alerts[one.key] = with_facts(alert, who_answers(alert.model, topology.routes, levels))
        return alerts

    def _known(self) -> set[Key]:
        """Every condition there may be."""
        return {
            (ConditionKind.DETECTOR_SUSPECT, FLEET),
            (ConditionKind.STORE_DOWN, STORE),
            *((ConditionKind.FLAPPING, model) for model in self._guard.models),
            *((ConditionKind.PHRASE_ONLY, route) for route in self._topology().routes),
            *(
                (ConditionKind.FORBIDDEN, _endpoint(model.name, at))
                for model in self._topology().models.values()
                for at in range(len(model.endpoints))
            ),
        }

    async def run(self) -> None:
        while True:
            try:
                await self.once()
            except StoreUnavailable as error:
                log.info("conditions of the breaker wait to be told: %s", error)
            except Exception:
                log.exception("conditions of the breaker were not told")
            await self._clock.sleep(LOOK_S)

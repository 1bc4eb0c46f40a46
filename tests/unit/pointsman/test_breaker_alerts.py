"""The breaker's conditions, handed to the desk: once each, resolved when over, also over a restart."""

from dataclasses import replace

from breaker.levels import Mode
from breaker.policy import BreakerPolicy
from breaker.ports import StoreUnavailable
from breaker.share import RouteCandidate
from monitor.alerts.alert import Alert, AlertKind, Severity
from pointsman.breaker_alerts import ConditionWatch
from router.rests import RestReason, Rests
from router.topology import Model, Route, Topology, WhenDown
from store.memory_desk import MemoryDesk
from tests.support.memory_fleet import Fleet, talk
from upstream.call import Endpoint

MODELS = ("a", "b", "c")


class Desk(MemoryDesk):
    """May be away."""

    away = False

    async def fire(self, alert: Alert) -> None:
        if self.away:
            raise StoreUnavailable("away")
        await super().fire(alert)


def topology() -> Topology:
    endpoints = (Endpoint(base_url="http://127.0.0.1:1/v1", upstream_model="x"),)
    candidates = tuple(RouteCandidate(model=model, weight=1.0) for model in MODELS)
    return Topology(
        models={name: Model(name=name, vendor="v", endpoints=endpoints) for name in MODELS},
        routes={"chat": Route(name="chat", candidates=candidates)},
    )


async def test_a_phrase_only_route_is_told_once_and_resolved_once() -> None:
    fleet, desk = Fleet(MODELS), Desk()
    guard = fleet.replica()
    watch = ConditionWatch(guard, topology, desk, fleet.clock)
    await watch.once()
    assert desk.fired == []
    for model in MODELS:
        await guard.force(model, Mode.FORCED_OPEN, "op", "drill", fleet.clock.now_s() + 600)
    for _ in range(3):
        await watch.once()
    assert [(a.kind, a.subject, a.severity) for a in desk.fired] == [(AlertKind.PHRASE_ONLY, "chat", Severity.CRITICAL)]
    await guard.reset("a", "op", "enough")
    fleet.clock.tick(1.0)
    await watch.once()
    assert desk.open == []
    assert len(desk.incidents) == 1


async def test_a_suspect_detector_is_told_by_whoever_looks_and_known_to_the_next_evaluator() -> None:
    fleet, desk = Fleet(MODELS), Desk()
    first, second = fleet.replica("first"), fleet.replica("second")
    for model in MODELS:
        talk(first, 0, 60, model)
    await first.flush()
    fleet.clock.tick(90.0)
    await first.evaluate()
    assert first.detector_suspect
    fleet.clock.tick(30.0)  # the first is gone; its lease is over
    await second.evaluate()
    assert second.detector_suspect
    assert second.snapshot("a").epoch == 0, "held by the one that took over, too"
    await ConditionWatch(second, topology, desk, fleet.clock).once()
    assert [(a.kind, a.subject) for a in desk.fired] == [(AlertKind.DETECTOR_SUSPECT, "fleet")]
    fleet.clock.tick(BreakerPolicy().suspect_hold_s)
    await second.evaluate()
    assert not second.detector_suspect
    assert second.snapshot("a").epoch == 1, "then the levels apply"


async def test_a_silent_store_is_told_after_ten_seconds_and_when_it_answers() -> None:
    fleet, desk = Fleet(MODELS), Desk()
    guard = fleet.replica()
    watch = ConditionWatch(guard, topology, desk, fleet.clock)
    await guard.attempt(guard.poll)
    fleet.down = True
    for _ in range(12):
        await guard.attempt(guard.poll)
        await watch.once()
        fleet.clock.tick(1.0)
    assert [(a.kind, a.subject) for a in desk.fired] == [(AlertKind.STORE_DOWN, "Redis")]
    fleet.down = False
    await guard.attempt(guard.poll)
    await watch.once()
    assert desk.open == []


async def test_what_ended_while_no_monitor_looked_is_resolved_at_the_next_start() -> None:
    fleet, desk = Fleet(MODELS), Desk()
    guard = fleet.replica()
    for model in MODELS:
        await guard.force(model, Mode.FORCED_OPEN, "op", "drill", fleet.clock.now_s() + 600)
    await ConditionWatch(guard, topology, desk, fleet.clock).once()
    assert len(desk.open) == 1
    await guard.reset("b", "op", "enough")
    fleet.clock.tick(60.0)
    await ConditionWatch(guard, topology, desk, fleet.clock).once()
    assert desk.open == []


async def test_a_desk_that_is_away_is_told_later() -> None:
    fleet, desk = Fleet(MODELS), Desk()
    guard = fleet.replica()
    watch = ConditionWatch(guard, topology, desk, fleet.clock)
    for model in MODELS:
        await guard.force(model, Mode.FORCED_OPEN, "op", "drill", fleet.clock.now_s() + 600)
    desk.away = True
    try:
        await watch.once()
    except StoreUnavailable:
        desk.away = False
    await watch.once()
    assert len(desk.open) == 1


async def test_an_endpoint_that_refuses_us_is_told_once_and_resolved_when_it_answers() -> None:
    fleet, desk, rests = Fleet(MODELS), Desk(), Rests()
    rests.know(topology())
    watch = ConditionWatch(fleet.replica(), topology, desk, fleet.clock, rests)
    now_s = fleet.clock.now_s()
    rests.rest("b", 0, now_s + 300, reason=RestReason.FORBIDDEN, at=now_s, status=401)
    rests.rest("c", 0, now_s + 30)  # told to wait: nothing to mend
    for _ in range(2):
        await watch.once()
    assert [(a.kind, a.subject, a.model, a.severity) for a in desk.fired] == [
        (AlertKind.FORBIDDEN, "b #1", "b", Severity.CRITICAL)  # no other endpoint of it is left
    ]
    rests.answered("b", 0, now_s + 301)
    await watch.once()
    assert desk.open == []


async def test_a_route_whose_models_all_refuse_us_is_told_as_phrase_only() -> None:
    fleet, desk, rests = Fleet(MODELS), Desk(), Rests()
    rests.know(topology())
    watch = ConditionWatch(fleet.replica(), topology, desk, fleet.clock, rests)
    now_s = fleet.clock.now_s()
    for model in topology().models:
        rests.rest(model, 0, now_s + 300, reason=RestReason.FORBIDDEN, at=now_s, status=401)
    await watch.once()
    routes = {a.subject for a in desk.fired if a.kind is AlertKind.PHRASE_ONLY}
    assert routes == set(topology().routes)
    rests.answered("b", 0, now_s + 301)
    await watch.once()
    assert not [a for a in desk.open if a.kind is AlertKind.PHRASE_ONLY]


async def test_the_alert_of_a_refusal_says_who_answers_instead_and_is_told_anew_when_that_changes() -> None:
    fleet, desk, rests = Fleet(MODELS), Desk(), Rests()
    rests.know(topology())
    guard = fleet.replica()
    watch = ConditionWatch(guard, topology, desk, fleet.clock, rests)
    now_s = fleet.clock.now_s()
    rests.rest("b", 0, now_s + 300, reason=RestReason.FORBIDDEN, at=now_s, status=401)
    await watch.once()
    told = [a.facts for a in desk.fired if a.kind is AlertKind.FORBIDDEN]
    assert [(f["routes"], f["routes_out"]) for f in told] == [(1, [])]
    for model in ("a", "c"):
        await guard.force(model, Mode.FORCED_OPEN, "op", "drill", now_s + 600)
    for _ in range(2):
        await watch.once()
    told = [a.facts for a in desk.fired if a.kind is AlertKind.FORBIDDEN]
    assert [(f["routes"], f["routes_out"]) for f in told] == [(1, []), (1, ["chat"])]
    # Asked again and refused again: nothing new to tell.
    rests.rest("b", 0, now_s + 700, reason=RestReason.FORBIDDEN, at=now_s + 400, status=401)
    await watch.once()
    assert len([a for a in desk.fired if a.kind is AlertKind.FORBIDDEN]) == 2


async def test_users_of_a_route_without_phrases_are_not_said_to_get_prepared_phrases() -> None:
    fleet, desk, rests, whole = Fleet(MODELS), Desk(), Rests(), topology()
    solo = Route(name="solo", candidates=(RouteCandidate(model="b", weight=1.0),), when_down=WhenDown.ERROR)
    programs = Route(name="extract", candidates=solo.candidates, scene="structured")
    spoken = Route(name="spoken", candidates=solo.candidates)
    whole = replace(whole, routes={**whole.routes, "solo": solo, "extract": programs, "spoken": spoken})
    rests.know(whole)
    watch = ConditionWatch(fleet.replica(), lambda: whole, desk, fleet.clock, rests)
    now_s = fleet.clock.now_s()
    rests.rest("b", 0, now_s + 300, reason=RestReason.FORBIDDEN, at=now_s, status=401)
    await watch.once()
    out = {a.subject: a.facts["phrases"] for a in desk.fired if a.kind is AlertKind.PHRASE_ONLY}
    assert out == {"solo": False, "extract": False, "spoken": True}
    (refusal,) = [a.facts for a in desk.fired if a.kind is AlertKind.FORBIDDEN]
    assert (refusal["routes"], refusal["routes_out"], refusal["routes_mute"]) == (
        4,
        ["solo", "extract", "spoken"],
        ["solo", "extract"],
    )

"""Which model and endpoint is asked next, out of those that may be: chance, levels, rests and tiers put together.

Decides; reads levels and rests from memory, chance is handed in.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace

from base.faults import Fault
from breaker.levels import Level
from breaker.share import SHUT
from router.backoff import vendor_of
from router.choose import choose
from router.deps import Deps, Rung
from router.ladder import Step, Tried, switches
from router.topology import Model, Route

LOOK_AGAIN_S = 0.5


def draw(
    deps: Deps, route: Route, tried: Sequence[Tried], levels: Mapping[str, Level], session: str = ""
) -> tuple[Model, int] | None:
    """Another model and its first endpoint that does not rest; on a route with affinity the one that is `session`'s.

    Who was told to come back later asks another vendor, as long as one may be asked (SPEC 3.4).
    """
    passed = {t.model for t in tried}
    if shunned := _of_busy_vendors(deps, route, tried):
        elsewhere = _drawn(deps, route, tried, passed | shunned, levels, session)
        if elsewhere is not None:
            return elsewhere
    return _drawn(deps, route, tried, passed, levels, session)


def _drawn(
    deps: Deps, route: Route, tried: Sequence[Tried], passed: set[str], levels: Mapping[str, Level], session: str
) -> tuple[Model, int] | None:
    failed = _failed_tiers(deps, route, tried)
    while True:
        name = choose(
            route.candidates,
            levels,
            tried=passed,
            shares=deps.shares,
            rng=deps.rng,
            failed_tiers=failed,
            session=session if route.affinity else None,
        )
        if name is None:
            return None
        model = deps.topology.models[name]
        endpoint = awake(deps, model)
        if endpoint is not None:
            return model, endpoint
        if deps.load.full(model):
            deps.metrics.at_cap.labels(name).inc()
        passed.add(name)


def _of_busy_vendors(deps: Deps, route: Route, tried: Sequence[Tried]) -> set[str]:
    models = deps.topology.models
    busy = {vendor_of(t.model, models) for t in tried if t.attempt.fault is Fault.RATE_LIMITED}
    return {c.model for c in route.candidates if vendor_of(c.model, models) in busy} if busy else set()


def others_left(deps: Deps, route: Route, passed: Collection[str], levels: Mapping[str, Level]) -> bool:
    """Whether anybody but `passed` may be asked."""
    return any(
        c.weight > 0
        and c.model not in passed
        and levels.get(c.model, Level.HEALTHY) not in SHUT
        and awake(deps, deps.topology.models[c.model]) is not None
        for c in route.candidates
    )


def by_permit(deps: Deps, route: Route, levels: Mapping[str, Level], *, waited: bool = False) -> Rung | None:
    """A recovering model that grants a permit: with a small chance, or for a request that nobody else can answer.

    `waited`: it has waited for one of them to come back.
    """
    recovering = [c.model for c in route.candidates if levels.get(c.model) is Level.RECOVERING]
    if not recovering or (not waited and deps.rng.random() >= deps.policy.live_permit_ratio):
        return None
    for name in deps.rng.sample(recovering, len(recovering)):
        model = deps.topology.models[name]
        endpoint = awake(deps, model)
        if endpoint is None:
            continue
        scope = ExitStack()
        permit = scope.enter_context(deps.guard.permit(name, live=True))
        if permit is not None:
            return Rung(model=model, endpoint=endpoint, step=Step.SWITCH, last=waited, permit=permit, scope=scope)
        scope.close()
    return None


def rest_s(deps: Deps, route: Route, left_s: float) -> float | None:
    """How long to wait until an endpoint of a usable model that asked for a pause returns; None: not inside the deadline.

    The end of a refusal is no return: nothing says that the vendor takes our key by then.
    """
    levels, now = deps.guard.levels(), deps.clock.now_s()
    waits = [
        deps.rests.paused_until(c.model, endpoint) - now
        for c in route.candidates
        if levels.get(c.model, Level.HEALTHY) not in SHUT
        for endpoint in range(len(deps.topology.models[c.model].endpoints))
    ]
    soonest = min((w for w in waits if w > 0), default=None)
    return soonest if soonest is not None and soonest < left_s - deps.policy.min_attempt_s else None


def return_s(deps: Deps, route: Route, left_s: float) -> float | None:
    """How long to wait until an open model of the route may be asked by permit; None: not inside the deadline."""
    levels, now = deps.guard.levels(), deps.clock.now_s()
    waits = []
    for c in route.candidates:
        level = levels.get(c.model)
        if level is Level.RECOVERING:
            waits.append(LOOK_AGAIN_S)
        elif level is Level.OPEN and (until := deps.guard.snapshot(c.model).until) > 0.0:
            # Whoever evaluates lets it recover within a second or two, and permits have to be leased.
            waits.append(max(until - now, LOOK_AGAIN_S))
    soonest = min(waits, default=None)
    return soonest if soonest is not None and soonest < left_s - deps.policy.min_attempt_s else None


def counted(deps: Deps, rung: Rung) -> Rung:
    """The rung, that takes one of its model's places for the time of its attempt, where these are limited."""
    if rung.model.max_concurrent is None:
        return rung
    return replace(rung, scope=_in_its_place(deps.load.slot(rung.model), rung.scope))


@contextmanager
def _in_its_place(place: AbstractContextManager[None], scope: AbstractContextManager[object]) -> Iterator[None]:
    with place, scope:
        yield


def _failed_tiers(deps: Deps, route: Route, tried: Sequence[Tried]) -> frozenset[int]:
    """Before the last change of model: the priorities already tried, so that one large tier cannot use up them all."""
    if not tried or switches(tried) + 1 < deps.policy.max_switches:
        return frozenset()
    models = {t.model for t in tried}
    return frozenset(c.priority for c in route.candidates if c.model in models)


def awake(deps: Deps, model: Model) -> int | None:
    """The model's first endpoint that does not rest; None also while as many attempts are under way as it may have."""
    if deps.load.full(model):
        return None
    now, rests = deps.clock.now_s(), deps.rests
    return next((i for i in range(len(model.endpoints)) if rests.until(model.name, i) <= now), None)

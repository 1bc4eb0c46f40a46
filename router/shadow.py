"""Probes of a recovering model by copies of requests that were answered already: nobody waits for them or sees them.

In:  a journey that has ended.  Out: at most one more call, under a permit of the fleet, whose result settles it.
From memory, capped, in tasks of their own; the reply is judged, counted and thrown away.  Source: BREAKER.md, Coming
back: after the suite prompts of the monitor, before live traffic.
"""

import asyncio
import logging
from dataclasses import replace

from breaker.levels import Level
from breaker.outcome import Outcome, classify, proven
from detector.verdict import LoopClass
from router.asking import PLAIN_SCENES
from router.calling import asked_of, call_of
from router.drawing import awake
from router.journey import Journey
from router.observing import as_vendor_means
from router.topology import Model
from router.wire import Kind
from upstream.attempt import Attempt
from upstream.call import SLOWEST_PER_S, Call, Timeouts

log = logging.getLogger("pointsman.router")
LEAST_TOKENS = 300
"""A shorter reply has no room to loop: it proves nothing."""
LONGEST_S = 50.0
"""Less than the lease of a permit: a reply that comes later could not settle it."""


class Shadows:
    """One per process; `after` hands over and returns."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[None]] = set()

    def after(self, journey: Journey) -> None:
        """The client has its answer: its request may prove a recovering model of the route."""
        deps, policy = journey.deps, journey.deps.policy
        if not policy.shadow_probes or len(self._under_way) >= policy.shadow_at_once:
            return
        levels = deps.guard.levels()
        recovering = [c.model for c in journey.route.candidates if levels.get(c.model) is Level.RECOVERING]
        if not recovering:
            return
        model = deps.topology.models[deps.rng.choice(recovering)]
        if not _proves_something(journey, model) or (endpoint := awake(deps, model)) is None:
            return
        task = asyncio.create_task(_probed(journey, model, endpoint), name="shadow probe")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """End those under way; their permits go back."""
        under_way = tuple(self._under_way)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def _proves_something(journey: Journey, model: Model) -> bool:
    """Whether the request asks for prose long enough to loop, with room for a model that reasons first, and would be guarded."""
    request, body = journey.request, journey.body
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    return (
        request.kind is Kind.CHAT
        and not request.structured
        and not request.auxiliary
        and not request.repetition_allowed
        and journey.scene not in PLAIN_SCENES
        and model.least_tokens <= LONGEST_S * SLOWEST_PER_S
        and (not isinstance(limit, int) or limit >= max(LEAST_TOKENS, model.least_tokens))
    )


async def _probed(journey: Journey, model: Model, endpoint: int) -> None:
    deps = journey.deps
    try:
        with deps.guard.permit(model.name, shadow=True) as permit, deps.load.slot(model):
            if permit is None:
                return
            limits = replace(journey.route.timeouts, total_s=min(LONGEST_S, journey.route.timeouts.total_s))
            attempt = await _asked(journey, model, endpoint, limits)
            outcome = _outcome(attempt)
            if (clean := proven(attempt.fault, outcome)) is not None:
                permit.settle(clean)
            deps.metrics.shadows.labels(model.name, outcome.value).inc()
            _count(journey, model, endpoint, attempt, outcome)
    except Exception:
        log.exception("a shadow probe of %s failed", model.name)


async def _asked(journey: Journey, model: Model, endpoint: int, limits: Timeouts) -> Attempt:
    return as_vendor_means(
        await journey.deps.models.complete(_call(journey, model), model.endpoints[endpoint], limits), model
    )


def _call(journey: Journey, model: Model) -> Call:
    request = replace(journey.request, stream=False)
    body = {name: value for name, value in journey.body.items() if name not in ("stream", "stream_options")}
    asked = asked_of(body, model, request, None, last=None, language=journey.language, policy=journey.deps.policy)
    return call_of(asked, model, request, journey.profile, language=journey.language, scored=False)


def _outcome(attempt: Attempt) -> Outcome:
    """A restatement is no repeat here: whether the one before restated too is a question of the conversation."""
    verdict = attempt.verdict
    restates = verdict is not None and verdict.loop_class is LoopClass.RESTATEMENT
    return classify(attempt.fault, verdict, first_restatement=restates)


def _count(journey: Journey, model: Model, endpoint: int, attempt: Attempt, outcome: Outcome) -> None:
    """Every attempt counts for the model that served it; nothing of its text is kept."""
    journey.deps.metrics.billed(model, attempt.usage)
    journey.deps.guard.note(
        model=model.name,
        scene=journey.scene,
        endpoint=endpoint,
        outcome=outcome,
        fault=attempt.fault,
        verdict=attempt.verdict,
        stream=False,
        session=journey.request.session,
        tokens_in=attempt.usage.prompt_tokens,
        tokens_out=attempt.usage.completion_tokens,
        elapsed_s=attempt.elapsed_s,
        suppressed_chars=attempt.suppressed_chars,
        hard_stop=attempt.hard_stop,
    )

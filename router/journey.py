"""One request on its way: what is asked next, and what is noted of each attempt.

Decides by router/ladder, router/drawing and router/calling over the state it is handed; makes no call itself.
In:  the request, the route, the attempts as they end.  Out: Rungs, then an Answer; a CallRow for the log.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from base.faults import Fault
from base.switch import SwitchMode
from breaker.outcome import Outcome, classify, proven
from detector import GateMode
from detector.checks import Format
from detector.structured import Step as ParseStep
from detector.verdict import LoopClass
from router import drawing
from router.asking import expected_of, prepared, validators_of
from router.auth import Caller
from router.backoff import pause_s
from router.budget import warning_of
from router.calling import asked_of, call_of, differing, timeouts_of, wants_logprobs
from router.context import restated_before
from router.deps import Answer, Deps, Rung
from router.formed import formed, is_unreadable
from router.gray import under_release
from router.ladder import OUT_OF_SERVICE, Step, Tried, next_step
from router.observing import as_vendor_means, observed
from router.recipes import safe_defaults
from router.rests import RestReason, Rests
from router.rows import call_row, failed_reply, handed_over
from router.spans import spans_of
from router.tale import Tale
from router.topology import Route, WhenDown
from router.wire import ChatRequest
from upstream.attempt import Attempt
from upstream.call import Call, Endpoint, Timeouts

log = logging.getLogger("pointsman.router")
__all__ = ["ABANDONED_STATUS", "Answer", "Deps", "Journey", "Rests", "Rung"]
ABANDONED_STATUS = 499  # nginx's number for a client that closed the request
SHORT_PAUSE_S = 5.0
"""So long a reader would rather wait for a model than get a prepared sentence: most vendors ask for one to three seconds."""
LONGEST_REST_S = 600.0
"""A `Retry-After` beyond it is not believed: ten minutes later the endpoint is asked again."""


class Journey(Tale):
    """One request; lives in one task, is thrown away with it."""

    def __init__(self, deps: Deps, request: ChatRequest, caller: Caller, route: Route, request_id: str) -> None:
        route = deps.topology.with_tools(route) if request.body.get("tools") else route
        super().__init__(deps, request, caller, route, request_id)
        self.splicing = False
        self.expected: Format | None = expected_of(request, self.scene)
        self._validators = validators_of(request, route, self.expected, deps.validators)
        self.body, self.adjusted = prepared(request, route, self.scene, self.language, deps.policy)
        self.warning = warning_of(request.body, self.expected)
        self._changed: tuple[str, ...] = ()
        self.switch = deps.switches.mode(route.name, self.at)
        """What operators had switched when the request began."""
        self.client_left = False
        """Set by whoever watches the client. A reply that is closed without it is closed by us."""

    def next_rung(self, *, rested: bool = False) -> Rung | None:
        """Return the next attempt to make; None when the ladder has ended. `rested`: who was to be left alone may be back."""
        rung = self._next_rung(rested=rested)
        return drawing.counted(self.deps, rung) if rung is not None else None

    def _next_rung(self, *, rested: bool) -> Rung | None:
        if self.switch is SwitchMode.PHRASE_ONLY or self._retried_enough():
            return None
        deps, route, tried = self.deps, self.route, self.tried
        levels = deps.guard.levels()
        if not tried and (recovering := drawing.by_permit(deps, route, levels)) is not None:
            return recovering
        drawn = drawing.draw(deps, route, [] if rested else tried, levels, self.request.session)
        if rested and drawn is None:
            return drawing.by_permit(deps, route, levels, waited=True)
        here = tried[-1] if tried else None
        model = deps.topology.models[here.model] if here else None
        step = next_step(
            tried, model, others=drawn is not None, left_s=self.left_s(), policy=deps.policy, splicing=self.splicing
        )
        if step is Step.END:
            return None
        if step is Step.SWITCH and drawn is not None:
            model, endpoint = drawn
        elif here is not None and model is not None:
            endpoint = here.endpoint + (step is Step.SPARE)
        else:
            return None
        last = len(tried) + 1 >= deps.policy.max_attempts or (
            endpoint + 1 >= len(model.endpoints)
            and not drawing.others_left(deps, route, {*(t.model for t in tried), model.name}, levels)
        )
        rung = Rung(model=model, endpoint=endpoint, step=step, last=last)
        if tried:
            return rung
        awake = partial(drawing.awake, deps)
        return under_release(rung, self.request.session, deps.gray, deps.topology.models, awake)

    def _retried_enough(self) -> bool:
        """Under the gate's mode `retry` a loop is tried again so often and no more, whatever the ladder would still allow."""
        loops = sum(t.attempt.stopped is GateMode.RETRY for t in self.tried)
        return loops > self.deps.gate.max_loop_retries

    def _looped_unseen(self) -> bool:
        """Whether the last attempt looped and nothing of it was shown: the next one is a retry, and no splice."""
        return bool(self.tried) and not self.splicing and self.tried[-1].attempt.fault is Fault.REPETITION

    def rest_s(self) -> float | None:
        """Return how long to wait until a model of the route may be asked again; None: not inside the deadline.

        That is an endpoint of a usable model that asked for a pause, or an open model whose cool-down ends. Where a phrase
        answers at once, only a short pause is waited for, and only before the first attempt; after attempts only where all
        asked us to come back or failed hard, and nothing was sent.
        """
        deps, told = self.deps, {t.attempt.fault for t in self.tried}
        if self.switch is SwitchMode.PHRASE_ONLY or len(self.tried) >= deps.policy.max_attempts or self.splicing:
            return None
        if self.route.phrases and self.route.when_down is WhenDown.PHRASE and self.request.fallback_allowed:
            return None if told else drawing.rest_s(deps, self.route, min(SHORT_PAUSE_S, self.left_s()))
        waits = []
        if told <= {Fault.RATE_LIMITED}:
            waits.append(drawing.rest_s(deps, self.route, self.left_s()))
        if told <= OUT_OF_SERVICE:
            waits.append(drawing.return_s(deps, self.route, self.left_s()))
        return min((wait_s for wait_s in waits if wait_s is not None), default=None)

    def pause_s(self, rung: Rung) -> float:
        """Return how long to wait before `rung` is asked, because its vendor was too busy."""
        deps = self.deps
        models, chance = deps.topology.models, deps.rng.random()
        return pause_s(self.tried, rung.model, models, deps.policy, chance=chance, left_s=self.left_s())

    def call(self, rung: Rung, body: Mapping[str, Any] | None = None) -> Call:
        """Return what to ask this rung; the same model is never asked the same thing twice."""
        base = self.body if body is None else body
        again = rung.step in (Step.SPARE, Step.AGAIN) and self.tried and not self.splicing
        last = self.tried[-1].attempt if again else None
        asked = asked_of(
            base, rung.model, self.request, self.expected, last=last, language=self.language, policy=self.deps.policy
        )
        self._changed = differing(self.body, asked)
        if "response_format" in self._changed and "response_format" not in self.adjusted:
            self.adjusted = (*self.adjusted, "response_format")
        policy, rng = self.deps.policy, self.deps.rng
        scored = wants_logprobs(rung.model, policy.logprobs_sample_ratio, rng.random())
        if self._looped_unseen():
            self.deps.metrics.gate.retries.labels(rung.model.name).inc()
        call = call_of(asked, rung.model, self.request, self.profile, language=self.language, scored=scored)
        titles = self.request.auxiliary or self.scene == "auxiliary"
        return replace(call, guarded=self.switch is SwitchMode.NORMAL, auxiliary=titles and not policy.guard_auxiliary)

    def endpoint(self, rung: Rung) -> Endpoint:
        """Whom to ask; of a structured call without those of its defaults that break JSON, which are named as changed."""
        endpoint = rung.model.endpoints[rung.endpoint]
        if not endpoint.extra_body or not (self.request.structured or self.scene == "structured"):
            return endpoint
        kept, names = safe_defaults(endpoint.extra_body)
        self.adjusted = (*self.adjusted, *(name for name in names if name not in self.adjusted))
        return replace(endpoint, extra_body=kept) if names else endpoint

    def timeouts(self, rung: Rung) -> Timeouts:
        return timeouts_of(self.route.timeouts, self.left_s(), last=rung.last, stream=self.request.stream)

    def record(self, rung: Rung, attempt: Attempt) -> Attempt:
        """Note one finished attempt: for the breaker, the metrics, the rests and the log of failed replies.

        Returns it as what is done next goes by: as judged, its form included.
        """
        attempt = as_vendor_means(attempt, rung.model)
        if attempt.fault is Fault.ABANDONED and not self.client_left:
            # Our own shutdown or failure closes an upstream as a client's leaving does; it must not be called that.
            attempt = replace(attempt, fault=Fault.ENDED_BY_US, detail="closed by us")
        if self.switch is SwitchMode.OBSERVE:
            self.seen = observed(attempt, self.request, self.profile)
            if self.seen is not None and self.seen.degenerate:
                self.deps.metrics.observed.labels(rung.model.name).inc()
        said = attempt
        attempt, self.parsed = formed(attempt, self.expected, self._validators, self._plug_in_failed)
        first_restatement = self._first_restatement(attempt)
        outcome = classify(
            attempt.fault,
            attempt.verdict,
            repetition_wanted=self.request.repetition_allowed,
            first_restatement=first_restatement,
            late_reader=attempt.waited_for_reader,
        )
        if first_restatement:
            self.deps.metrics.gate.first_restatements.labels(rung.model.name).inc()
        if attempt.first_text_s is not None and self.first_text_s is None:
            self.first_text_s = max(0.0, self.elapsed_s() - attempt.elapsed_s + attempt.first_text_s)
        self.tried.append(Tried(model=rung.model.name, endpoint=rung.endpoint, attempt=attempt, changed=self._changed))
        unreadable = is_unreadable(attempt, self.parsed)
        if rung.permit is not None and (clean := proven(attempt.fault, outcome, unreadable=unreadable)) is not None:
            rung.permit.settle(clean)
        self._rest(rung, attempt)
        self._count(rung, attempt, outcome)
        if outcome is Outcome.DEGENERATE or attempt.fault in (Fault.INVALID_FORMAT, Fault.GARBLE):
            self._keep_failed(rung, attempt)
        if said.stream and said.fault is None and self.expected is None and attempt.fault is Fault.INVALID_FORMAT:
            # A plug-in's word on a stream that was shown as it came: counted, told in its last event, and not undone.
            self.code = attempt.fault.value
            return said
        return attempt

    def _plug_in_failed(self, name: str, error: Exception) -> None:
        self.deps.metrics.plug_in_failures.labels(name).inc()
        log.warning(
            "the validator plug-in %s raised %r and was passed over", name, error, extra={"request_id": self.id}
        )

    def finished(self, status: int) -> None:
        """Write the request's one row. A log that fails is counted; the answer is not held up."""
        deps, elapsed_s = self.deps, self.elapsed_s()
        deps.metrics.request(self.route.name, status, self.fallback, elapsed_s, self.first_text_s)
        if self.tried:
            waited_s = sum(t.attempt.elapsed_s for t in self.tried)
            deps.metrics.took_beside(self.route.name, max(0.0, elapsed_s - waited_s))
            if self.tried[-1].attempt.fault is Fault.REPETITION:
                deps.metrics.gate.exhausted.labels(self.route.name).inc()
        handed_over(deps.calls.add_call, call_row(self, status, elapsed_s), deps.metrics)
        if deps.traces is not None:
            deps.traces.told(spans_of(self, status), self.request.traceparent)

    def _first_restatement(self, attempt: Attempt) -> bool:
        verdict = attempt.verdict
        restates = verdict is not None and verdict.loop_class is LoopClass.RESTATEMENT
        return restates and not restated_before(self.request.body)

    def _count(self, rung: Rung, attempt: Attempt, outcome: Outcome) -> None:
        deps, name = self.deps, rung.model.name
        deps.metrics.attempt(name, outcome, attempt, self.id)
        deps.metrics.billed(rung.model, attempt.usage)
        if self.parsed is not None:
            deps.metrics.read_as(name, self.parsed)
        deps.guard.note(
            model=name,
            scene=self.scene,
            endpoint=rung.endpoint,
            outcome=outcome,
            fault=None if attempt.waited_for_reader else attempt.fault,
            verdict=attempt.verdict,
            stream=attempt.stream,
            session=self.request.session,
            tokens_in=attempt.usage.prompt_tokens,
            tokens_out=attempt.usage.completion_tokens,
            elapsed_s=attempt.elapsed_s,
            suppressed_chars=attempt.suppressed_chars,
            hard_stop=attempt.hard_stop,
            arm=rung.arm,
            structured=self.parsed is not None,
            repaired=self.parsed is not None and self.parsed.step is ParseStep.REPAIRED,
            unreadable=is_unreadable(attempt, self.parsed),
        )

    def _keep_failed(self, rung: Rung, attempt: Attempt) -> None:
        deps = self.deps
        row = failed_reply(
            attempt,
            request_id=self.id,
            at=deps.clock.now_s(),
            model=rung.model.name,
            scene=self.scene,
            limit=deps.policy.excerpt_chars,
        )
        handed_over(deps.calls.add_failed, row, deps.metrics)

    def _rest(self, rung: Rung, attempt: Attempt) -> None:
        """An endpoint that is forbidden to us, or asked us to wait, is left alone for a while: by the whole fleet."""
        deps, name, now_s = self.deps, rung.model.name, self.deps.clock.now_s()
        if attempt.fault not in OUT_OF_SERVICE:
            deps.rests.answered(name, rung.endpoint, now_s - attempt.elapsed_s)
            return
        reason, rests_s = RestReason.RATE_LIMITED, min(attempt.retry_after_s or 0.0, LONGEST_REST_S)
        if attempt.fault is Fault.FORBIDDEN:
            reason, rests_s = RestReason.FORBIDDEN, deps.policy.forbidden_rest_s
        if rests_s or reason is RestReason.FORBIDDEN:
            until = now_s + rests_s
            deps.rests.rest(name, rung.endpoint, until, reason=reason, at=now_s, status=attempt.status or 0)

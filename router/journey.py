"""One request on its way: what was tried, where to go next, and what is written down at the end.

Decides by router/ladder and router/choose over the state it is handed; makes no call itself.
In:  the request, the route, the attempts as they end.  Out: Rungs, then an Answer; a CallRow for the log.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from base.faults import Fault
from breaker.levels import Level
from breaker.outcome import Outcome, classify
from breaker.share import SHUT
from detector.checks import Format, FormatKind, format_asked
from detector.structured import Parsed
from detector.structured import Step as ParseStep
from detector.verdict import Verdict
from router.asking import prepared
from router.auth import Caller
from router.choose import choose
from router.deps import Answer, Deps, Rests, Rung
from router.formed import formed
from router.gray import under_release
from router.ladder import OUT_OF_SERVICE, Step, Tried, next_step, switches
from router.ports import CallRow
from router.recipes import changed, with_schema
from router.rows import failed_reply, handed_over, numbers, with_version
from router.topology import Model, Route
from router.wire import ChatRequest, Kind
from upstream.attempt import Attempt, Usage
from upstream.call import Call, Timeouts

__all__ = ["ABANDONED_STATUS", "Answer", "Deps", "Journey", "Rests", "Rung"]
ABANDONED_STATUS = 499  # nginx's number for a client that closed the request
SILENCE_SHARE = 0.5
"""Part of the time left that an attempt may be silent while others could still follow."""
WHOLE_SHARE = 0.75
"""The same for a whole reply, which is silent by nature: a quarter is enough for a shorter answer or the phrase."""


class Journey:
    """One request; lives in one task, is thrown away with it."""

    def __init__(self, deps: Deps, request: ChatRequest, caller: Caller, route: Route, request_id: str) -> None:
        self.deps, self.request, self.caller, self.route, self.id = deps, request, caller, route, request_id
        self.at = deps.clock.now_s()
        self._started = deps.clock.monotonic_s()
        self._deadline_s = min(route.deadline_s, request.deadline_s or route.deadline_s)
        self.scene = request.scene or ("structured" if request.structured else route.scene)
        self.language = route.language or request.language
        self.tried: list[Tried] = []
        self.fallback = "none"
        self.code = ""
        self.served: Model | None = None
        self.first_text_s: float | None = None
        self.splicing = False
        self.parsed: Parsed | None = None
        self.seen: Verdict | None = None
        """Of a spliced reply, taken as one."""
        chat = request.kind is Kind.CHAT
        self.expected: Format | None = format_asked(request.body.get("response_format")) if chat else None
        self._body, self.adjusted = prepared(request, route, self.scene, self.language)

    def elapsed_s(self) -> float:
        return self.deps.clock.monotonic_s() - self._started

    def left_s(self) -> float:
        return self._deadline_s - self.elapsed_s()

    def next_rung(self) -> Rung | None:
        """Return the next attempt to make; None when the ladder has ended."""
        deps = self.deps
        levels = deps.guard.levels()
        if not self.tried and (recovering := self._by_permit(levels)) is not None:
            return recovering
        drawn = self._draw(levels)
        here = self.tried[-1] if self.tried else None
        model = deps.topology.models[here.model] if here else None
        step = next_step(
            self.tried,
            model,
            others=drawn is not None,
            left_s=self.left_s(),
            policy=deps.policy,
            splicing=self.splicing,
        )
        if step is Step.END:
            return None
        if step is Step.SWITCH and drawn is not None:
            model, endpoint = drawn
        elif here is not None and model is not None:
            endpoint = here.endpoint + (step is Step.SPARE)
        else:
            return None
        rung = Rung(model=model, endpoint=endpoint, step=step, last=self._is_last(model, endpoint, levels))
        if self.tried:
            return rung
        return under_release(rung, self.request.session, deps.gray, deps.topology.models, self._awake)

    def rest_s(self) -> float | None:
        """Return how long to wait until a resting endpoint of a usable model returns; None: not inside the deadline."""
        levels = self.deps.guard.levels()
        now = self.deps.clock.now_s()
        waits = [
            self.deps.rests.until(c.model, endpoint) - now
            for c in self.route.candidates
            if levels.get(c.model, Level.HEALTHY) not in SHUT
            for endpoint in range(len(self.deps.topology.models[c.model].endpoints))
        ]
        soonest = min((w for w in waits if w > 0), default=None)
        return soonest if soonest is not None and soonest < self.left_s() - self.deps.policy.min_attempt_s else None

    def call(self, rung: Rung, body: Mapping[str, Any] | None = None) -> Call:
        """Return what to ask this rung; the same model is never asked the same thing twice."""
        request = self.request
        asked = self._body if body is None else body
        if rung.step in (Step.SPARE, Step.AGAIN) and self.tried and not self.splicing:
            asked = changed(
                asked,
                self.tried[-1].attempt,
                rung.model.capabilities,
                structured=request.structured,
                language=self.language,
            )
        if self.expected is not None and self.expected.kind is FormatKind.JSON_SCHEMA:
            asked = self._by_schema(asked, rung.model)
        if request.stream and "stream_usage" in rung.model.capabilities and not request.include_usage:
            # What was billed is known only if asked for; serve.py takes the chunk out again.
            options = {**(asked.get("stream_options") or {}), "include_usage": True}
            asked = {**asked, "stream_options": options}
        return Call(
            path=request.kind.value,
            body=asked,
            stream=request.stream,
            language=self.language,
            profile=self.route.profile or ("structured" if request.structured else None),
            previous=request.previous,
            repetition_allowed=request.repetition_allowed,
            guarded=self.deps.policy.guard_auxiliary or not (request.auxiliary or self.scene == "auxiliary"),
        )

    @property
    def body(self) -> Mapping[str, Any]:
        return self._body

    def timeouts(self, rung: Rung) -> Timeouts:
        """Return the limits of one attempt: a model that hangs must not use up the time of those after it."""
        limits, left = self.route.timeouts, max(0.001, self.left_s())
        if rung.last:
            return Timeouts(
                connect_s=min(limits.connect_s, left),
                first_text_s=left,
                idle_s=min(limits.idle_s, left),
                total_s=min(limits.total_s, left),
            )
        silence_s = left * SILENCE_SHARE
        return Timeouts(
            connect_s=min(limits.connect_s, silence_s),
            first_text_s=min(limits.first_text_s, silence_s),
            idle_s=min(limits.idle_s, silence_s),
            # A stream that talks may go on to the end; of a whole reply nothing is heard until it is there.
            total_s=min(limits.total_s, left if self.request.stream else left * WHOLE_SHARE),
        )

    def record(self, rung: Rung, attempt: Attempt) -> Attempt:
        """Note one finished attempt: for the breaker, the metrics, the rests and the log of failed replies.

        Returns it as judged, its form included.
        """
        deps, name = self.deps, rung.model.name
        attempt, self.parsed = formed(attempt, self.expected)
        if self.parsed is not None:
            deps.metrics.parsed.labels(name, self.parsed.step.value if self.parsed.step else "failed").inc()
        outcome = classify(attempt.fault, attempt.verdict, repetition_wanted=self.request.repetition_allowed)
        if attempt.first_text_s is not None and self.first_text_s is None:
            self.first_text_s = max(0.0, self.elapsed_s() - attempt.elapsed_s + attempt.first_text_s)
        self.tried.append(Tried(model=name, endpoint=rung.endpoint, attempt=attempt))
        if rung.permit is not None and outcome is not Outcome.NOT_COUNTED:
            rung.permit.settle(outcome is Outcome.GOOD)
        self._rest(rung, attempt)
        deps.metrics.attempt(name, outcome, attempt.fault, attempt.suppressed_chars, attempt.hard_stop)
        deps.guard.note(
            model=name,
            scene=self.scene,
            endpoint=rung.endpoint,
            outcome=outcome,
            fault=attempt.fault,
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
        )
        if outcome is Outcome.DEGENERATE or attempt.fault in (Fault.INVALID_FORMAT, Fault.GARBLE):
            row = failed_reply(
                attempt,
                request_id=self.id,
                at=deps.clock.now_s(),
                model=name,
                scene=self.scene,
                limit=deps.policy.excerpt_chars,
            )
            handed_over(deps.calls.add_failed, row, deps.metrics)
        return attempt

    def usage(self) -> Usage:
        """What the upstreams billed, summed over attempts."""
        return Usage(
            prompt_tokens=sum(t.attempt.usage.prompt_tokens for t in self.tried),
            completion_tokens=sum(t.attempt.usage.completion_tokens for t in self.tried),
        )

    def attempts(self) -> tuple[dict[str, Any], ...]:
        """What was tried, for the log and for errors: no text, no address."""
        return tuple(
            {
                "model": t.model,
                "endpoint": t.endpoint,
                "fault": t.attempt.fault.value if t.attempt.fault else None,
                "status": t.attempt.status,
                "begun_ms": max(0, round((t.attempt.started_at - self.at) * 1000)),
                "elapsed_ms": round(t.attempt.elapsed_s * 1000),
                **_gated(t.attempt),
            }
            for t in self.tried
        )

    def truth(self, *, model: str | None = None) -> dict[str, Any]:
        """The `pointsman` field of a final event, and the source of the response headers.

        `model`: who is answering just now; its call counts though it has not ended.
        """
        name = model or (self.served.name if self.served else "")
        asked = name or (self.tried[-1].model if self.tried else "")
        level = self.deps.guard.levels().get(asked, Level.HEALTHY) if asked else Level.OPEN
        out = {
            "request_id": self.id,
            "model": name,
            "attempts": len(self.tried) + (model is not None),
            "verdict": self.verdict_word(),
            "fallback": self.fallback,
            "state": level.value,
        }
        return out | ({"code": self.code} if self.code else {}) | self._adjusted() | self._parse_told()

    def headers(self, *, model: str | None = None) -> tuple[tuple[bytes, bytes], ...]:
        told = self.truth(model=model)
        out = [(b"x-request-id", self.id.encode())]
        for key in ("model", "attempts", "verdict", "fallback", "state", "changed", "parse", "lossy"):
            if key in told:
                value = (
                    ",".join(told[key])
                    if key == "changed"
                    else str(told[key]).lower()
                    if key == "lossy"
                    else str(told[key])
                )
                out.append((b"x-pointsman-" + key.encode(), value.encode("ascii", "replace")))
        return tuple(out)

    def verdict(self) -> Verdict | None:
        if self.seen is not None:
            return self.seen
        return self.tried[-1].attempt.verdict if self.tried else None

    def fallback_of(self, rung: Rung) -> str:
        """The word for the header when this rung's whole reply is handed on."""
        first = self.tried[0]
        if rung.model.name != first.model:
            return "model"
        return "spare" if rung.endpoint != first.endpoint else "none"

    def finished(self, status: int) -> None:
        """Write the request's one row. A log that fails is counted; the answer is not held up."""
        deps, elapsed_s, usage = self.deps, self.elapsed_s(), self.usage()
        verdict = self.verdict()
        row = CallRow(
            request_id=self.id,
            at=self.at,
            app=self.caller.app,
            route=self.route.name,
            scene=self.scene,
            session=self.request.session,
            served_model=self.served.name if self.served else "",
            fallback=self.fallback,
            status=status,
            code=self.code,
            verdict=self.verdict_word(),
            loop_class=verdict.loop_class.value if verdict and verdict.loop_class else "",
            attempts=tuple(map(with_version, self.attempts(), self.tried)),
            metrics=numbers(verdict),
            stream=self.request.stream,
            elapsed_ms=round(elapsed_s * 1000),
            first_text_ms=None if self.first_text_s is None else round(self.first_text_s * 1000),
            tokens_in=usage.prompt_tokens,
            tokens_out=usage.completion_tokens,
        )
        deps.metrics.request(self.route.name, status, self.fallback, elapsed_s, self.first_text_s)
        handed_over(deps.calls.add_call, row, deps.metrics)

    def _adjusted(self) -> dict[str, Any]:
        return {"changed": self.adjusted} if self.adjusted else {}

    def _parse_told(self) -> dict[str, Any]:
        """How structured text was read, where the client should know: repaired, perhaps with items missing."""
        parsed = self.parsed
        if (
            parsed is None
            or parsed.step is None
            or parsed.step is ParseStep.AS_IS
            or self.fallback in ("phrase", "cut")
        ):
            return {}
        out: dict[str, Any] = {"parse": parsed.step.value}
        if parsed.lossy:
            out["lossy"] = True
        return out | ({"example_leak": parsed.example_leak} if parsed.example_leak else {})

    def _by_schema(self, body: Mapping[str, Any], model: Model) -> Mapping[str, Any]:
        if "json_schema" in model.capabilities:
            return body
        if "response_format" not in self.adjusted:
            self.adjusted = (*self.adjusted, "response_format")
        return with_schema(body)

    def _draw(self, levels: Mapping[str, Level], also: tuple[str, ...] = ()) -> tuple[Model, int] | None:
        """Another model and its first endpoint that does not rest."""
        passed = {t.model for t in self.tried} | set(also)
        failed_tiers = self._failed_tiers()
        while True:
            name = choose(
                self.route.candidates,
                levels,
                tried=passed,
                shares=self.deps.shares,
                rng=self.deps.rng,
                failed_tiers=failed_tiers,
            )
            if name is None:
                return None
            model = self.deps.topology.models[name]
            endpoint = self._awake(model)
            if endpoint is not None:
                return model, endpoint
            passed.add(name)

    def _failed_tiers(self) -> frozenset[int]:
        """Before the last change of model: the priorities already tried, so that one large tier cannot use up them all."""
        if not self.tried or switches(self.tried) + 1 < self.deps.policy.max_switches:
            return frozenset()
        tried = {t.model for t in self.tried}
        return frozenset(c.priority for c in self.route.candidates if c.model in tried)

    def _awake(self, model: Model) -> int | None:
        now = self.deps.clock.now_s()
        rests = self.deps.rests
        return next((i for i in range(len(model.endpoints)) if rests.until(model.name, i) <= now), None)

    def _is_last(self, model: Model, endpoint: int, levels: Mapping[str, Level]) -> bool:
        if len(self.tried) + 1 >= self.deps.policy.max_attempts:
            return True
        return endpoint + 1 >= len(model.endpoints) and self._draw(levels, (model.name,)) is None

    def _by_permit(self, levels: Mapping[str, Level]) -> Rung | None:
        """With a small chance, a recovering model that grants a permit."""
        ratio = self.deps.policy.live_permit_ratio
        recovering = [c.model for c in self.route.candidates if levels.get(c.model) is Level.RECOVERING]
        if not recovering or self.deps.rng.random() >= ratio:
            return None
        model = self.deps.topology.models[self.deps.rng.choice(recovering)]
        scope = ExitStack()
        permit = scope.enter_context(self.deps.guard.permit(model.name, live=True))
        if permit is None:
            scope.close()
            return None
        return Rung(model=model, endpoint=0, step=Step.SWITCH, last=False, permit=permit, scope=scope)

    def _rest(self, rung: Rung, attempt: Attempt) -> None:
        now, name = self.deps.clock.now_s(), rung.model.name
        if attempt.fault is Fault.FORBIDDEN:
            self.deps.rests.rest(name, rung.endpoint, now + self.deps.policy.forbidden_rest_s)
        elif attempt.fault in OUT_OF_SERVICE and attempt.retry_after_s:
            self.deps.rests.rest(name, rung.endpoint, now + min(attempt.retry_after_s, 600.0))

    def verdict_word(self) -> str:
        """`clean`, `degenerate`, `none`, or the fault of the last attempt."""
        if not self.tried:
            return "none"
        last = self.tried[-1].attempt
        verdict = self.verdict()
        if verdict is not None and verdict.degenerate:
            return "degenerate"
        return last.fault.value if last.fault else "clean"


def _gated(attempt: Attempt) -> dict[str, Any]:
    """What the gate did with an attempt, where it did anything: the console shows it beside the attempt."""
    verdict = attempt.verdict
    out: dict[str, Any] = {"held_chars": attempt.held_chars, "suppressed_chars": attempt.suppressed_chars}
    if verdict is not None and verdict.loop_class is not None:
        out["loop_class"] = verdict.loop_class.value
    return {name: value for name, value in out.items() if value}

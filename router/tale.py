"""What has happened to one request so far, and how it is told: in headers, in the last event, in errors, in the log.

Decides nothing about what comes next; reads the breaker's levels from memory.
"""

import string
from typing import Any
from urllib.parse import quote

from breaker.levels import Level
from detector.structured import Parsed
from detector.structured import Step as ParseStep
from detector.verdict import Verdict
from router.auth import Caller
from router.calling import profile_for
from router.deps import Deps, Rung
from router.ladder import Tried
from router.topology import Model, Route
from router.wire import ChatRequest
from upstream.attempt import Attempt, Usage

TOLD_HEADERS = (
    "model",
    "attempts",
    "verdict",
    "fallback",
    "state",
    "changed",
    "warning",
    "parse",
    "lossy",
    "suppressed_tokens",
)
"""Fields of the truth that are response headers too, as `x-pointsman-…`."""
_PLAIN = string.punctuation.replace("%", "") + " "


class Tale:
    """One request: who asked, what was tried, what came of it."""

    def __init__(self, deps: Deps, request: ChatRequest, caller: Caller, route: Route, request_id: str) -> None:
        self.deps, self.request, self.caller, self.route, self.id = deps, request, caller, route, request_id
        self.at = deps.clock.now_s()
        self._started = deps.clock.monotonic_s()
        self._deadline_s = min(route.deadline_s, request.deadline_s or route.deadline_s)
        self.scene = request.scene or ("structured" if request.structured else route.scene)
        self.language = route.language or request.language
        self.profile = profile_for(request, route, deps.topology)
        self.tried: list[Tried] = []
        self.fallback = "none"
        self.code = ""
        self.served: Model | None = None
        self.first_text_s: float | None = None
        self.parsed: Parsed | None = None
        self.adjusted: tuple[str, ...] = ()
        """Fields of the call that were changed before it was made."""
        self.warning = ""
        self.seen: Verdict | None = None
        """Of a spliced reply, taken as one."""

    def elapsed_s(self) -> float:
        return self.deps.clock.monotonic_s() - self._started

    def left_s(self) -> float:
        return self._deadline_s - self.elapsed_s()

    def usage(self) -> Usage:
        """What the upstreams billed, summed over attempts."""
        if len(self.tried) == 1:
            return self.tried[0].attempt.usage
        return Usage(
            prompt_tokens=sum(t.attempt.usage.prompt_tokens for t in self.tried),
            completion_tokens=sum(t.attempt.usage.completion_tokens for t in self.tried),
            estimated=any(t.attempt.usage.estimated for t in self.tried),
        )

    def suppressed_tokens(self) -> int:
        """How many of the billed tokens were looped text that was not shown."""
        return sum(_suppressed(tried.attempt) for tried in self.tried)

    def attempts(self) -> tuple[dict[str, Any], ...]:
        """What was tried, for the log and for errors: no text, no address."""
        return tuple(_told(tried, self.at) for tried in self.tried)

    def truth(self, *, model: str | None = None) -> dict[str, Any]:
        """The `pointsman` field of a final event, and the source of the response headers.

        `model`: who is answering just now; its call counts though it has not ended.
        """
        name = model or (self.served.name if self.served else "")
        out: dict[str, Any] = {
            "request_id": self.id,
            "model": name,
            "attempts": len(self.tried) + (model is not None),
            "verdict": self.verdict_word(),
            "fallback": self.fallback,
            # Of a phrase or an error no model is the one that answered.
            "state": self.deps.guard.levels().get(name, Level.HEALTHY).value if name else "",
        }
        if self.code:
            out["code"] = self.code
        if self.adjusted:
            out["changed"] = self.adjusted
        if self.warning:
            out["warning"] = self.warning
        if suppressed := self.suppressed_tokens():
            out["suppressed_tokens"] = suppressed
        return out | self._parse_told() if self.parsed is not None else out

    def headers(self, *, model: str | None = None) -> tuple[tuple[bytes, bytes], ...]:
        told = self.truth(model=model)
        out = [(b"x-request-id", self.id.encode())]
        out += [
            (b"x-pointsman-" + key.replace("_", "-").encode(), _header(told[key]))
            for key in TOLD_HEADERS
            if key in told
        ]
        return tuple(out)

    def verdict(self) -> Verdict | None:
        if self.seen is not None:
            return self.seen
        return self.tried[-1].attempt.verdict if self.tried else None

    def verdict_word(self) -> str:
        """`clean`, `degenerate`, `none`, or the fault of the last attempt."""
        if not self.tried:
            return "none"
        verdict = self.verdict()
        if verdict is not None and verdict.degenerate:
            return "degenerate"
        fault = self.tried[-1].attempt.fault
        return fault.value if fault else "clean"

    def fallback_of(self, rung: Rung) -> str:
        """The word for the header when this rung's whole reply is handed on."""
        first = self.tried[0]
        if rung.model.name != first.model:
            return "model"
        return "spare" if rung.endpoint != first.endpoint else "none"

    def _parse_told(self) -> dict[str, Any]:
        """How structured text was read, where the client should know: repaired, perhaps with items missing."""
        parsed = self.parsed
        if parsed is None or parsed.step is None or self.fallback in ("phrase", "cut"):
            return {}
        out: dict[str, Any] = {} if parsed.step is ParseStep.AS_IS else {"parse": parsed.step.value}
        if parsed.lossy:
            out["lossy"] = True
        return out | ({"example_leak": parsed.example_leak} if parsed.example_leak else {})


def _told(tried: Tried, at: float) -> dict[str, Any]:
    attempt, verdict = tried.attempt, tried.attempt.verdict
    out: dict[str, Any] = {
        "model": tried.model,
        "endpoint": tried.endpoint,
        "fault": attempt.fault.value if attempt.fault else None,
        "status": attempt.status,
        "begun_ms": max(0, round((attempt.started_at - at) * 1000)),
        "elapsed_ms": round(attempt.elapsed_s * 1000),
    }
    # What the gate did, and what the call was changed in, where anything: the console shows it beside the attempt.
    more = {
        "held_chars": attempt.held_chars,
        "suppressed_chars": attempt.suppressed_chars,
        "loop_class": verdict.loop_class.value if verdict is not None and verdict.loop_class is not None else "",
        "changed": list(tried.changed),
    }
    return out | {name: value for name, value in more.items() if value}


def _suppressed(attempt: Attempt) -> int:
    if not attempt.suppressed_chars:
        return 0
    # Vendors bill tokens and the gate counts characters: of each reply, the same part of both.
    part = min(1.0, attempt.suppressed_chars / max(1, len(attempt.raw_text)))
    return round(attempt.usage.completion_tokens * part)


def _header(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    # Clients read headers as Latin-1 or refuse them: what is beyond ASCII is told as in an address, and can be read back.
    return (text if text.isascii() else quote(text, safe=_PLAIN)).encode()

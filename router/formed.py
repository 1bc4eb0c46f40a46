"""Whether a reply has the form that was asked for, and the strict JSON to hand on instead (SPEC 2.7, 2.8).

Pure: an attempt in, the same attempt out, or one with Fault.INVALID_FORMAT and what a retry may tell the model.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from base.faults import Fault
from detector.checks import LENGTH_FINISH_REASONS, FailureKind, Format, Validator, check_reply
from detector.structured import Parsed, Step, parse_structured
from detector.verdict import CLEAN
from router.sse import decode, encode
from upstream.attempt import Attempt
from upstream.tool_arguments import unreadable

ANY_OBJECT = {"type": "object"}


def formed(
    attempt: Attempt,
    expected: Format | None,
    validators: Sequence[Validator] = (),
    on_error: Callable[[str, Exception], None] | None = None,
) -> tuple[Attempt, Parsed | None]:
    """Judge the form of a reply that is otherwise good. A tool-only turn has no text to judge, but arguments.

    `on_error` is told the name of a validator that raised, and what.
    """
    if attempt.fault is not None:
        return attempt, None
    if (broken := broken_arguments(attempt.body)) is not None:
        return replace(attempt, fault=Fault.INVALID_FORMAT, detail=broken), None
    if not attempt.text.strip() or (expected is None and not validators):
        return attempt, None
    parsed = None
    if expected is not None:
        schema = expected.schema if expected.schema is not None else ANY_OBJECT
        parsed = parse_structured(attempt.text, schema, expected.example, attempt.finish_reason)
    failure = check_reply(
        attempt.text,
        tool_only=False,
        finish_reason=attempt.finish_reason,
        reasoning_chars=0,
        # Repetition was judged by upstream/; a loop that was cleaned away must not count a second time here.
        verdict=CLEAN,
        expected=expected,
        parsed=parsed,
        validators=validators,
        on_validator_error=on_error,
    )
    if failure is None:
        return (_with_text(attempt, parsed) if parsed is not None else attempt), parsed
    fault = Fault.REFUSAL if failure.kind is FailureKind.REFUSAL else Fault.INVALID_FORMAT
    return replace(attempt, fault=fault, detail=failure.detail), parsed


def is_unreadable(attempt: Attempt, parsed: Parsed | None) -> bool:
    """Whether the reply holds no JSON at all though it was asked for: what the breaker may count against the model.

    Not so where the caller's limit cut it, and where it is JSON that breaks its schema: no model may be able to keep that.
    """
    asked = parsed is not None and parsed.step is None and attempt.fault is Fault.INVALID_FORMAT
    return asked and attempt.finish_reason not in LENGTH_FINISH_REASONS


def broken_arguments(body: bytes) -> str | None:
    """What is wrong with the arguments of a whole reply's tool calls; None when all can be read."""
    if b'"tool_calls"' not in body:
        return None
    choices = decode(body).get("choices") or [{}]
    calls = (choices[0].get("message") or {}).get("tool_calls") or ()
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        said = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(said, str) and (why := unreadable(str(function.get("name")), said)) is not None:  # type: ignore[union-attr]
            return why
    return None


def _with_text(attempt: Attempt, parsed: Parsed) -> Attempt:
    """The attempt with strict JSON where the model wrapped or broke it."""
    if parsed.step is Step.AS_IS:
        return attempt
    body = attempt.body
    if body:
        reply: Any = decode(body)
        first = reply["choices"][0]
        message = {**(first.get("message") or {}), "content": parsed.text}
        body = encode({**reply, "choices": [{**first, "message": message}, *reply["choices"][1:]]})
    return replace(attempt, text=parsed.text, body=body)

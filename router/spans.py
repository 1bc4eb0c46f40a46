"""One request as OpenTelemetry spans by the GenAI conventions: the request, and under it each call to a model.

Pure: built once the request is over, from what was noted of it anyway, so that nothing is paid while traces are off.
No text of prompts or replies is in a span. Source: OpenTelemetry semantic conventions for generative AI, 1.36.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from router.ladder import Tried
from router.ports import SpanKind, SpanRecord
from router.tale import Tale
from router.wire import Kind

OPERATIONS: Mapping[Kind, str] = {Kind.CHAT: "chat", Kind.TEXT: "text_completion", Kind.EMBEDDINGS: "embeddings"}
_ASKED = (
    ("temperature", "gen_ai.request.temperature"),
    ("top_p", "gen_ai.request.top_p"),
    ("frequency_penalty", "gen_ai.request.frequency_penalty"),
    ("presence_penalty", "gen_ai.request.presence_penalty"),
    ("seed", "gen_ai.request.seed"),
    ("max_tokens", "gen_ai.request.max_tokens"),
    ("max_completion_tokens", "gen_ai.request.max_tokens"),
)


def spans_of(tale: Tale, status: int) -> Sequence[SpanRecord]:
    """The request's span, then one for each attempt: its children."""
    operation, usage = OPERATIONS[tale.request.kind], tale.usage()
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": "pointsman",
        "gen_ai.request.model": tale.route.name,
        "gen_ai.conversation.id": tale.request.session,
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "http.response.status_code": status,
        "pointsman.request_id": tale.id,
        "pointsman.app": tale.caller.app,
        "pointsman.scene": tale.scene,
        "pointsman.fallback": tale.fallback,
        "pointsman.verdict": tale.verdict_word(),
        "pointsman.attempts": len(tale.tried),
        "pointsman.stream": tale.request.stream,
    }
    attributes |= {name: tale.request.body[key] for key, name in _ASKED if tale.request.body.get(key) is not None}
    if tale.served is not None:
        attributes["gen_ai.response.model"] = tale.served.name
    if tale.first_text_s is not None:
        attributes["pointsman.first_text_ms"] = round(tale.first_text_s * 1000)
    whole = SpanRecord(
        name=f"{operation} {tale.route.name}",
        kind=SpanKind.SERVER,
        begun_at=tale.at,
        ended_at=tale.at + tale.elapsed_s(),
        attributes=attributes,
        error=tale.code if status >= 500 or (tale.code and tale.fallback == "cut") else "",
    )
    return [whole, *(_attempt(tale, tried, operation) for tried in tale.tried)]


def _attempt(tale: Tale, tried: Tried, operation: str) -> SpanRecord:
    attempt, verdict = tried.attempt, tried.attempt.verdict
    model = tale.deps.topology.models.get(tried.model)
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": (model.vendor if model is not None else "") or tried.model,
        "gen_ai.request.model": tried.model,
        "gen_ai.usage.input_tokens": attempt.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": attempt.usage.completion_tokens,
        "pointsman.endpoint": tried.endpoint,
        "pointsman.suppressed_chars": attempt.suppressed_chars,
    }
    if attempt.served_model:
        attributes["gen_ai.response.model"] = attempt.served_model
    if attempt.finish_reason:
        attributes["gen_ai.response.finish_reasons"] = (attempt.finish_reason,)
    if attempt.status is not None:
        attributes["http.response.status_code"] = attempt.status
    if verdict is not None and verdict.loop_class is not None:
        attributes["pointsman.loop_class"] = verdict.loop_class.value
    if tried.changed:
        attributes["pointsman.changed"] = tried.changed
    return SpanRecord(
        name=f"{operation} {tried.model}",
        kind=SpanKind.CLIENT,
        begun_at=attempt.started_at,
        ended_at=attempt.started_at + attempt.elapsed_s,
        attributes=attributes,
        error=attempt.fault.value if attempt.fault else "",
    )

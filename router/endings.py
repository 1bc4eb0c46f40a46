"""How a request ends when no rung is left: the reply itself, a phrase, a clean head, or an honest error.

Builds answers; sends nothing.  Source: SPEC 3.3.
"""

from base.faults import Fault
from base.switch import SwitchMode
from breaker.levels import Level
from detector.verdict import LoopClass
from router.errors import AllModelsDown, NoUsableReply, RouterError
from router.journey import Answer, Journey
from router.ladder import End, end_of, replied, soft_code
from router.sse import decode, encode, usage_shape
from router.wire import Kind
from upstream.attempt import Attempt

JSON = (b"content-type", b"application/json")
DEFAULT_RETRY_S = 5.0
"""When nothing says how soon a model returns: shorter than a cool-down, long enough not to be a storm."""


def answer_of(journey: Journey) -> Answer:
    """Return the answer of a whole request whose ladder has ended."""
    match end_of(journey.tried, journey.route, fallback_allowed=journey.request.fallback_allowed):
        case End.SERVED:
            return _served(journey)
        case End.CALLER:
            return _callers_error(journey, journey.tried[-1].attempt)
        case End.PHRASE if (said := last_words(journey)) is not None:
            return _said(journey, said)
        case _:
            return refused(journey, error_of(journey))


def last_words(journey: Journey) -> str | None:
    """Return the longest clean head with a closing line, else a phrase; None where a program is listening."""
    deps, floor = journey.deps, journey.deps.policy.clean_head_chars
    heads = [_clean_head(t.attempt) for t in journey.tried if t.attempt.fault is Fault.REPETITION]
    head = max(heads, key=len, default="")
    embeds = journey.request.kind is Kind.EMBEDDINGS
    if embeds or journey.request.structured or journey.scene in ("structured", "auxiliary"):
        return None
    if head and len(head) >= floor:
        journey.fallback = "cut"
        return f"{head.rstrip()}\n\n{deps.catalog.closing_line(journey.language, deps.rng)}"
    phrase = deps.catalog.pick(journey.language, journey.scene, deps.rng, replied=replied(journey.tried))
    if phrase is not None:
        journey.fallback = "phrase"
    return phrase


def _clean_head(attempt: Attempt) -> str:
    """What may be shown of a looped reply: all of a cleaned text, else what stands before the onset; of a restatement nothing."""
    if attempt.verdict is not None and attempt.verdict.loop_class is LoopClass.RESTATEMENT:
        return ""
    if attempt.stream or attempt.text != attempt.raw_text:
        return attempt.text
    onset = attempt.verdict.onset if attempt.verdict else None
    return attempt.text[:onset] if onset else ""


def error_of(journey: Journey) -> RouterError:
    """Return the 502 or 503 that tells the truth."""
    end = end_of(journey.tried, journey.route, fallback_allowed=False)
    if end is End.ALL_DOWN:
        what = "every model of this route failed" if journey.tried else "no model of this route may take traffic now"
        if journey.switch is SwitchMode.PHRASE_ONLY:
            what = f"an operator has switched this route to prepared phrases ({journey.switch}): no model is asked"
        return AllModelsDown(what, retry_after_s=retry_after_s(journey), attempts=journey.attempts())
    code = soft_code(journey.tried)
    return NoUsableReply(f"no model gave a usable reply ({code})", code=code, attempts=journey.attempts())


def refused(journey: Journey, error: RouterError) -> Answer:
    journey.code = error.code
    headers = (*journey.headers(), JSON, *error.told_headers())
    return Answer(status=error.status, body=encode(error.shape()), headers=headers)


def retry_after_s(journey: Journey) -> float:
    """Return when the first model of the route may be asked again, in seconds: when the operators' switch ends, when its
    cool-down ends, or the rest of its endpoints, as far as that is known."""
    deps, now = journey.deps, journey.deps.clock.now_s()
    if journey.switch is SwitchMode.PHRASE_ONLY:
        return deps.switches.until(journey.route.name, now) - now
    waits = [_back_s(journey, c.model, now) for c in journey.route.candidates if c.weight > 0]
    return min((wait_s for wait_s in waits if wait_s is not None), default=DEFAULT_RETRY_S)


def _back_s(journey: Journey, model: str, now: float) -> float | None:
    """Seconds until `model` may be asked again; None: it is out, and nothing says until when."""
    deps = journey.deps
    endpoints = range(len(deps.topology.models[model].endpoints))
    rest_s = max(0.0, min((deps.rests.until(model, at) for at in endpoints), default=0.0) - now)
    if deps.guard.levels().get(model) is Level.OPEN:
        open_s = max(0.0, deps.guard.snapshot(model).until - now)
        return max(open_s, rest_s) or None
    told = [t.attempt.retry_after_s for t in journey.tried if t.model == model and t.attempt.retry_after_s]
    return rest_s or min(told, default=DEFAULT_RETRY_S)


def _served(journey: Journey) -> Answer:
    attempt = journey.tried[-1].attempt
    body = attempt.body
    if len(journey.tried) > 1 and isinstance(usage := decode(body).get("usage"), dict):
        body = encode({**decode(body), "usage": {**usage, **usage_shape(journey.usage())}})
    if attempt.fault is not None:
        journey.code = attempt.fault.value
    return Answer(status=200, body=body, headers=(*journey.headers(), JSON))


def _callers_error(journey: Journey, attempt: Attempt) -> Answer:
    """Pass on what the upstream said of the caller's request, under its own status."""
    journey.code = attempt.fault.value if attempt.fault else "rejected"
    error = (attempt.reply or {}).get("error")
    if not isinstance(error, dict):
        error = {
            "message": attempt.detail or "the model refused this request",
            "type": "invalid_request_error",
            "param": None,
            "code": journey.code,
        }
    status = attempt.status if attempt.status and 400 <= attempt.status < 500 else 400
    return Answer(status=status, body=encode({"error": error}), headers=(*journey.headers(), JSON))


def _said(journey: Journey, text: str) -> Answer:
    _remember_why(journey)
    journey.served = None
    chat = journey.request.kind is Kind.CHAT
    said = {"message": {"role": "assistant", "content": text}} if chat else {"text": text, "logprobs": None}
    body = {
        "id": journey.id,
        "object": "chat.completion" if chat else "text_completion",
        "created": int(journey.at),
        "model": f"pointsman/{journey.fallback}",
        "choices": [{"index": 0, **said, "finish_reason": "stop"}],
        "usage": usage_shape(journey.usage()),
        "pointsman": journey.truth(),
    }
    return Answer(status=200, body=encode(body), headers=(*journey.headers(), JSON))


def _remember_why(journey: Journey) -> None:
    last = journey.tried[-1].attempt.fault if journey.tried else None
    journey.code = last.value if last else "all_models_unavailable"

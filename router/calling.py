"""What one rung is asked, and how long it may take. Pure.

The same model is never asked the same thing twice; what differs is named, for the record of the attempt.
"""

from collections.abc import Mapping
from typing import Any

from detector.checks import Format, FormatKind
from detector.profile import Profile
from router.policy import RouterPolicy
from router.recipes import changed, with_schema
from router.topology import Logprobs, Model, Route, Topology
from router.wire import ChatRequest, Kind
from upstream.attempt import Attempt
from upstream.call import Call, Timeouts

STRUCTURED = "structured"
"""A scene, and the profile of its texts."""
SILENCE_SHARE = 0.5
"""Part of the time left that an attempt may be silent while others could still follow."""
WHOLE_SHARE = 0.75
"""The same for a whole reply, which is silent by nature: a quarter is enough for a shorter answer or the phrase."""
TOP_LOGPROBS = 5
"""Candidates asked for at each position: the least that the probability signals need (SPEC 2.6)."""


def asked_of(
    body: Mapping[str, Any],
    model: Model,
    request: ChatRequest,
    expected: Format | None,
    *,
    last: Attempt | None,
    language: str,
    policy: RouterPolicy,
) -> Mapping[str, Any]:
    """The body for `model`; `last`: the attempt that it failed before, for another call that is not the same."""
    asked = body
    if last is not None:
        asked = changed(asked, last, model.capabilities, policy, structured=request.structured, language=language)
    schema = expected is not None and expected.kind is FormatKind.JSON_SCHEMA
    if schema and "json_schema" not in model.capabilities:
        asked = with_schema(asked)
    return asked


def profile_for(request: ChatRequest, route: Route, topology: Topology) -> str | Profile | None:
    """What judges the reply: a scene that the request names goes before the route's."""
    scene = request.scene if request.scene is not None and request.scene != route.scene else None
    if scene is not None and scene in topology.profiles:
        return topology.profiles[scene]
    if scene == STRUCTURED:
        return STRUCTURED
    return route.profile or (STRUCTURED if request.structured or route.scene == STRUCTURED else None)


def call_of(
    asked: Mapping[str, Any],
    model: Model,
    request: ChatRequest,
    profile: str | Profile | None,
    *,
    language: str,
    scored: bool,
) -> Call:
    """The call; `scored`: this one's probabilities are wanted."""
    extra: dict[str, Any] = {}
    if request.stream and "stream_usage" in model.capabilities and not request.include_usage:
        # What was billed is known only if asked for; serve.py takes the chunk out again.
        extra["stream_options"] = {**(asked.get("stream_options") or {}), "include_usage": True}
    own = bool(asked.get("logprobs"))
    strip = scored and not own and request.kind is not Kind.EMBEDDINGS
    if strip:
        chat = {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        extra |= chat if request.kind is Kind.CHAT else {"logprobs": TOP_LOGPROBS}
    return Call(
        path=request.kind.value,
        body={**asked, **extra} if extra else asked,
        stream=request.stream,
        language=language,
        profile=profile,
        previous=request.previous,
        repetition_allowed=request.repetition_allowed,
        model=model.name,
        vendor=model.vendor,
        watch_logprobs=own or strip,
        strip_logprobs=strip,
    )


def wants_logprobs(model: Model, ratio: float, chance: float) -> bool:
    """Whether this call of `model` is one whose probabilities are judged; `chance` uniform in 0..1."""
    if "logprobs" not in model.capabilities or model.logprobs is Logprobs.NEVER:
        return False
    return model.logprobs is Logprobs.ALWAYS or chance < ratio


def timeouts_of(limits: Timeouts, left_s: float, *, last: bool, stream: bool) -> Timeouts:
    """The limits of one attempt: a model that hangs must not use up the time of those after it."""
    left = max(0.001, left_s)
    if last:
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
        total_s=min(limits.total_s, left if stream else left * WHOLE_SHARE),
    )


def differing(base: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the fields in which two bodies differ."""
    if base is asked:
        return ()
    return tuple(sorted(k for k in base.keys() | asked.keys() if base.get(k) != asked.get(k)))

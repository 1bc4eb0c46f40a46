"""What upstreams are asked instead of the client's own words: rules added, JSON made safe, a looping past shortened.

Pure. Out: the body, and the names of the fields that were changed, for the client to see.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from detector.checks import Format, FormatKind, Validator, format_asked, markdown_validator
from detector.schema import example_in
from router.context import restating, shortened
from router.policy import RouterPolicy
from router.recipes import made_safe, with_rules
from router.topology import Route
from router.wire import ChatRequest, Kind, text_of

ANY_JSON = {"type": ["object", "array"]}
"""What a call of scene `structured` is due that names no format."""

PLAIN_SCENES = frozenset({"structured", "auxiliary"})
"""Scenes whose text is not prose: the anti-repetition rules stay out unless a route asks for them."""


def prepared(
    request: ChatRequest, route: Route, scene: str, language: str, policy: RouterPolicy
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the body for upstreams and what was changed in it."""
    if request.kind is Kind.EMBEDDINGS:
        return request.body, ()
    if request.structured or scene == "structured":
        return made_safe(request.body, policy.structured_temperature)
    if request.kind is not Kind.CHAT or request.repetition_allowed:
        return request.body, ()
    if restating(request.body):
        return with_rules(shortened(request.body), language), ("messages",)
    wanted = route.anti_repetition
    if wanted is None:
        wanted = scene not in PLAIN_SCENES and not request.auxiliary
    return (with_rules(request.body, language) if wanted else request.body), ()


def expected_of(request: ChatRequest, scene: str) -> Format | None:
    """The form that the reply must have; None for free text and for calls that may answer by a tool."""
    if request.kind is not Kind.CHAT:
        return None
    asked = request.body.get("response_format")
    if asked is None:
        named = scene == "structured" and not request.body.get("tools")
        return Format(kind=FormatKind.JSON_OBJECT, schema=ANY_JSON) if named else None
    return format_asked(asked, example_in(prompt_of(request.body, ("system", "developer", "user"))))


def validators_of(
    request: ChatRequest, route: Route, expected: Format | None, plugins: Sequence[Validator]
) -> Sequence[Validator]:
    """What looks at the reply's form besides its JSON, in the order of SPEC 2.8: Markdown, then plug-ins."""
    prose = request.kind is Kind.CHAT and expected is None and not (request.structured or request.auxiliary)
    return (markdown_validator(route.markdown), *plugins) if prose and route.markdown is not None else plugins


def prompt_of(body: Mapping[str, Any], roles: tuple[str, ...]) -> str:
    """What was said in these roles, one after another."""
    return "\n".join(text_of(m.get("content")) for m in body["messages"] if m["role"] in roles)

"""Every field that we know is checked down to its parts; no body whatever ends in an error of ours."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from router.errors import BadRequest
from router.fields import _COUNTS, _KINDS, _NUMBERS
from router.wire import MAX_DEPTH, Kind, parse_chat
from tests.support.router_world import World

HELLO = {"role": "user", "content": "hello"}


def parsed(fields: dict[str, Any], kind: Kind = Kind.CHAT) -> None:
    base: dict[str, Any] = {"model": "main", "messages": [HELLO], "prompt": "p", "input": "i"}
    parse_chat(json.dumps({**base, **fields}).encode(), {}, "app", kind)


def message(**fields: Any) -> dict[str, Any]:
    return {"messages": [HELLO, fields]}


def parts(*content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(content)}]}


def call(**fields: Any) -> dict[str, Any]:
    return message(role="assistant", content=None, tool_calls=[fields])


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        pytest.param(message(role="user", content=None), "messages[1].content", id="a user says nothing"),
        pytest.param(message(role="system"), "messages[1].content", id="a system prompt without content"),
        pytest.param(
            message(role="assistant", content=None), "messages[1].content", id="an assistant without anything"
        ),
        pytest.param(message(role="", content="x"), "messages[1].role", id="role is empty"),
        pytest.param(message(role="user", content="x", name=4), "messages[1].name", id="name is a number"),
        pytest.param(message(role="tool", content="4"), "messages[1].tool_call_id", id="an answer to no call"),
        pytest.param(parts(), "messages[0].content", id="no parts"),
        pytest.param(parts("hi"), "messages[0].content[0]", id="a part is text"),
        pytest.param(parts({"text": "x"}), "messages[0].content[0].type", id="a part without type"),
        pytest.param(parts({"type": "text"}), "messages[0].content[0].text", id="a text part without text"),
        pytest.param(parts({"type": "text", "text": None}), "messages[0].content[0].text", id="a text part of null"),
        pytest.param(parts({"type": "image_url"}), "messages[0].content[0].image_url", id="an image without address"),
        pytest.param(
            parts({"type": "image_url", "image_url": {"url": 3}}), "messages[0].content[0].image_url.url", id="url: 3"
        ),
        pytest.param(parts({"type": "input_audio"}), "messages[0].content[0].input_audio", id="audio without data"),
        pytest.param(message(role="assistant", tool_calls={}), "messages[1].tool_calls", id="tool_calls is an object"),
        pytest.param(call(function={"name": "f"}), "messages[1].tool_calls[0].id", id="a call without id"),
        pytest.param(call(id="a", function={}), "messages[1].tool_calls[0].function", id="a call without name"),
        pytest.param(
            call(id="a", function={"name": "f", "arguments": {"x": 1}}),
            "messages[1].tool_calls[0].function.arguments",
            id="arguments are an object",
        ),
        pytest.param({"stop": ["a", 1]}, "stop[1]", id="a stop is a number"),
        pytest.param({"logit_bias": {"5": "up"}}, "logit_bias", id="a bias is text"),
        pytest.param({"stream_options": {"include_usage": "yes"}}, "stream_options.include_usage", id="usage: yes"),
        pytest.param({"response_format": {}}, "response_format.type", id="a format without type"),
        pytest.param({"response_format": {"type": "json_schema"}}, "response_format.json_schema", id="no schema"),
        pytest.param(
            {"response_format": {"type": "json_schema", "json_schema": {"schema": 4}}},
            "response_format.json_schema.schema",
            id="the schema is a number",
        ),
        pytest.param({"tools": ["f"]}, "tools[0]", id="a tool is text"),
        pytest.param({"tools": [{}]}, "tools[0].type", id="a tool without type"),
        pytest.param({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name", id="no name"),
        pytest.param(
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": "x"}}]},
            "tools[0].function.parameters",
            id="parameters are text",
        ),
        pytest.param({"x": json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)}, "x", id="nested too deep"),
    ],
)
def test_a_mistake_inside_a_field_is_named_with_its_place_and_its_fix(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parsed(fields)
    assert caught.value.param == param
    assert (
        "must" in caught.value.message and f"`{param.partition('[')[0].partition('.')[0]}" in f"`{caught.value.message}"
    )


@pytest.mark.parametrize(
    "fields",
    [message(role="observation", content="x"), {"response_format": {"type": "grammar", "grammar": "root ::= x"}}],
    ids=["role", "format"],
)
def test_a_role_or_a_format_of_a_vendors_own_passes(fields: dict[str, Any]) -> None:
    parsed(fields)


@pytest.mark.parametrize("name", [*_NUMBERS, *_COUNTS, *_KINDS])
@pytest.mark.parametrize("value", [{"a": [1]}, [[]], "x" * 9, 1e308, -1, True, False])
def test_a_field_of_the_wrong_kind_is_refused_by_its_name_or_passes_on(name: str, value: Any) -> None:
    try:
        parsed({name: value})
    except BadRequest as error:
        assert (error.param or "").startswith(name)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(call(id="a", type="function", function={"name": "f", "arguments": "{}"}), id="tool calls"),
        pytest.param(message(role="assistant", content=None, refusal="no"), id="a refusal"),
        pytest.param(message(role="tool", tool_call_id="a", content="4"), id="an answer to a call"),
        pytest.param(message(role="developer", content=[{"type": "text", "text": ""}]), id="an empty text"),
        pytest.param(parts({"type": "image_url", "image_url": {"url": "data:"}}), id="an image"),
        pytest.param(parts({"type": "video_url", "video_url": 5}), id="a part of a vendor's own"),
        pytest.param({"tools": [{"type": "web_search"}]}, id="a tool of a vendor's own"),
        pytest.param(dict.fromkeys((*_NUMBERS, *_COUNTS, *_KINDS)), id="null everywhere"),
        pytest.param({"x": json.loads("[" * (MAX_DEPTH - 2) + "]" * (MAX_DEPTH - 2))}, id="just not too deep"),
    ],
)
def test_what_clients_do_send_passes(fields: dict[str, Any]) -> None:
    parsed(fields)


@pytest.mark.parametrize("raw", [rb'{"model": "\ud800"}', rb'{"model": "main", "messages": "\uDFFFx"}'])
def test_half_a_character_is_named_as_such(raw: bytes) -> None:
    with pytest.raises(BadRequest, match="surrogate"):
        parse_chat(raw, {})


@pytest.mark.parametrize("value", [[], [{}], ["a", None], [True], {"a": 1}, 7])
def test_texts_to_embed_are_strings_or_tokens(value: Any) -> None:
    with pytest.raises(BadRequest) as caught:
        parsed({"input": value}, Kind.EMBEDDINGS)
    assert (caught.value.param or "").startswith("input")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["model", "messages", "prompt", "input", "n", *_NUMBERS, *_COUNTS, *_KINDS])
PLACES = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "name", "type", "text", "image_url", "function"]),
    JSON | st.sampled_from(["user", "assistant", "tool", "text", "image_url", "function"]),
    max_size=5,
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A sound request with a few fields replaced by anything, sometimes cut off or not UTF-8."""
    body: dict[str, Any] = {"model": "main", "messages": [HELLO], "prompt": "p", "input": "i"}
    body |= draw(st.dictionaries(NAMES, JSON, max_size=3))
    if draw(st.booleans()):
        body["messages"] = draw(st.lists(PLACES | JSON, max_size=3))
    if draw(st.booleans()):
        body["messages"] = [{"role": "user", "content": draw(st.lists(PLACES, max_size=3))}]
    raw = json.dumps(body).encode()
    return raw[: draw(st.integers(0, len(raw)))] if draw(st.integers(0, 9)) == 0 else raw


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(raw=bodies() | st.binary(max_size=40), path=st.sampled_from([k.value for k in Kind]))
def test_no_body_ends_in_an_error_of_ours(raw: bytes, path: str) -> None:
    async def story() -> None:
        response = await World().request("POST", f"/v1{path}", content=raw)
        assert response.status_code < 500, response.text
        if response.status_code >= 400:
            error = response.json()["error"]
            assert set(error) >= {"message", "type", "param", "code"} and error["message"]

    asyncio.run(story())


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "objekt"}, id="no such type"),
        pytest.param({"type": True}, id="a type that is no word"),
        pytest.param({"type": "object", "required": True}, id="required is no list"),
        pytest.param({"properties": {"a": {"enum": 1}}}, id="inside"),
        pytest.param({"properties": {"a": {"$ref": "https://example.com/x"}}}, id="elsewhere"),
    ],
)
async def test_a_schema_that_cannot_be_applied_is_the_callers_mistake_and_costs_no_call(schema: dict[str, Any]) -> None:
    world = World()
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = await world.ask(response_format=form)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, "response_format.json_schema.schema")
    assert "cannot be applied" in error["message"] and world.asked == []


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        pytest.param(b"\x1f\x8b\x08\x00", "compressed", id="gzip"),
        pytest.param(b"\xef\xbb\xbf{}", "byte order mark", id="UTF-8 with a mark"),
        pytest.param('{"model": "main"}'.encode("utf-16"), "byte order mark", id="UTF-16"),
    ],
)
async def test_a_body_that_is_packed_or_marked_is_told_so(raw: bytes, why: str) -> None:
    answer = await World().post(raw)
    assert answer.status_code == 400 and why in answer.json()["error"]["message"]

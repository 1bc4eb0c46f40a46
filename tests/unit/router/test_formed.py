"""Structured replies: read by the ladder of steps, asked again once, never handed on broken."""

import json
from typing import Any

import pytest

from base.faults import Fault
from tests.support.router_world import Says, World, events, streamed_text

SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
ASKED: dict[str, Any] = {
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}},
}
GOOD, FENCED, WRONG = '{"age": 3}', 'Here you are:\n```json\n{"age": 3}\n```', '{"age": "three"}'


@pytest.mark.parametrize("stream", [True, False])
async def test_json_in_a_fence_is_handed_on_strict(stream: bool) -> None:
    world = World({"a": [Says(text=FENCED)]})
    response = await world.ask(stream=stream, **ASKED)
    said = streamed_text(response) if stream else response.json()["choices"][0]["message"]["content"]
    assert json.loads(said) == {"age": 3}
    assert response.headers["x-pointsman-parse"] == "unfenced"
    assert world.guard.outcomes == ["a:good"]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_wrong_type_is_asked_again_once_with_the_error_told(stream: bool) -> None:
    world = World({"a": [Says(text=WRONG), Says(text=GOOD)]})
    response = await world.ask(stream=stream, **ASKED)
    said = streamed_text(response) if stream else response.json()["choices"][0]["message"]["content"]
    assert said == GOOD
    assert world.asked == ["a", "a"]
    assert "age" in world.models.asked[1][1].body["messages"][-1]["content"]
    assert [n["fault"] for n in world.guard.noted] == [Fault.INVALID_FORMAT, None]


@pytest.mark.parametrize("stream", [True, False])
async def test_broken_json_is_never_handed_on(stream: bool) -> None:
    world = World({n: [Says(text=WRONG)] for n in ("a", "a2", "b", "c")})
    response = await world.ask(stream=stream, **ASKED)
    assert (response.status_code, response.json()["error"]["code"]) == (502, "invalid_format")
    assert "three" not in response.text


async def test_a_good_structured_stream_keeps_its_own_chunks() -> None:
    world = World({"a": [Says(pieces=['{"age"', ": 3}"])]})
    response = await world.ask(stream=True, **ASKED)
    assert streamed_text(response) == GOOD
    assert len(events(response)) == 5
    assert events(response)[-2]["choices"][0]["finish_reason"] == "stop"


async def test_a_model_that_cannot_decode_by_schema_gets_it_in_its_prompt() -> None:
    able, unable = World(capabilities=frozenset({"json_schema"})), World({"a": [Says(text=GOOD)]})
    await able.ask(**ASKED)
    response = await unable.ask(**ASKED)
    assert able.models.asked[0][1].body["response_format"] == ASKED["response_format"]
    body = unable.models.asked[0][1].body
    assert body["response_format"] == {"type": "json_object"}
    assert json.dumps(SCHEMA, separators=(",", ":")) in body["messages"][0]["content"]
    assert "response_format" in response.headers["x-pointsman-changed"]


async def test_plain_requests_are_not_read_as_json() -> None:
    assert (await World({"a": [Says(text=WRONG)]}).ask()).json()["choices"][0]["message"]["content"] == WRONG

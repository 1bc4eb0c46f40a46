"""Structured replies: read by the ladder of steps, asked again once, never handed on broken."""

import json
from typing import Any

import pytest

from base.faults import Fault
from detector.checks import Format, Validator
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


@pytest.mark.parametrize(
    ("said", "unreadable"),
    [
        pytest.param(Says(text="It is the third."), True, id="no JSON at all"),
        pytest.param(Says(text=WRONG), False, id="JSON that breaks its schema"),
        pytest.param(Says(text="It is the", finish="length"), False, id="cut by the caller's limit"),
        pytest.param(Says(text=GOOD), False, id="good"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_only_a_reply_without_any_json_may_count_against_the_model(
    said: Says, unreadable: bool, stream: bool
) -> None:
    world = World({"a": [said]})
    await world.ask(stream=stream, **ASKED)
    noted = world.guard.noted[0]
    assert (noted["structured"], noted["unreadable"]) == (True, unreadable)


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


@pytest.mark.parametrize("stream", [True, False])
async def test_the_scene_structured_alone_is_due_json(stream: bool) -> None:
    world = World({"a": [Says(text="Sure, I can do that."), Says(text="[1, 2]")]}, spares=())
    response = await world.ask(stream=stream, headers={"x-pointsman-scene": "structured"})
    said = streamed_text(response) if stream else response.json()["choices"][0]["message"]["content"]
    assert said == "[1, 2]" and world.asked == ["a", "a"]


async def test_tool_arguments_that_are_no_json_are_asked_again_once() -> None:
    def calls(arguments: str) -> Says:
        return Says(text="", calls=[{"id": "t", "type": "function", "function": {"name": "f", "arguments": arguments}}])

    world = World({"a": [calls('{"x": '), calls('{"x": 1}')]}, spares=())
    tools = [{"type": "function", "function": {"name": "f"}}]
    response = await world.ask(tools=tools)
    message = response.json()["choices"][0]["message"]
    assert message["tool_calls"][0]["function"]["arguments"] == '{"x": 1}'
    assert [n["fault"] for n in world.guard.noted] == [Fault.INVALID_FORMAT, None]
    assert "arguments" in world.models.asked[1][1].body["messages"][-1]["content"]


async def test_values_copied_from_the_prompts_example_are_told() -> None:
    world = World({"a": [Says(text='{"name": "Ada Lovelace"}')]})
    prompt = 'Answer like this: {"name": "Ada Lovelace"}. Who wrote the first compiler?'
    messages = [{"role": "user", "content": prompt}]
    response = await world.ask(stream=True, messages=messages, response_format={"type": "json_object"})
    assert events(response)[-2]["pointsman"]["example_leak"] == ["$.name"]


async def test_the_first_thing_wrong_with_json_is_counted_by_model() -> None:
    world = World({"a": [Says(text=FENCED)]})
    await world.ask(**ASKED)
    told = world.deps.metrics.exposition().decode()
    assert 'pointsman_parse_steps_total{model="a",step="unfenced"} 1.0' in told
    assert 'pointsman_parse_reasons_total{model="a",reason="prose"} 1.0' in told


async def test_a_plug_in_looks_last_at_whole_replies_and_a_crashing_one_costs_nothing() -> None:
    def no_trains(text: str, expected: Format | None) -> str | None:
        return "the reply speaks of trains" if "train" in text else None

    def crashes(text: str, expected: Format | None) -> str | None:
        raise ZeroDivisionError

    world = World({"a": [Says(text="a train"), Says(text="a bus")]}, spares=())
    world.deps.validators = (Validator(name="crash", check=crashes), Validator(name="trains", check=no_trains))
    response = await world.ask()
    assert response.json()["choices"][0]["message"]["content"] == "a bus"
    assert "trains" in world.models.asked[1][1].body["messages"][-1]["content"]
    told = (await world.request("GET", "/metrics")).text
    assert 'pointsman_plug_in_failures_total{name="crash"} 2.0' in told


async def test_a_plug_ins_word_on_a_stream_that_was_shown_is_counted_and_told_at_its_end() -> None:
    world = World({"a": [Says(pieces=["call ", "me maybe"])]})
    world.deps.validators = (Validator(name="no-songs", check=lambda text, _: "a song" if "maybe" in text else None),)
    response = await world.ask(stream=True)
    got = events(response)
    assert streamed_text(response) == "call me maybe" and got[-1] == "[DONE]"
    assert got[-2]["choices"][0]["finish_reason"] == "stop"
    assert (got[-2]["pointsman"]["verdict"], got[-2]["pointsman"]["code"]) == ("invalid_format", "invalid_format")
    assert (got[-2]["pointsman"]["model"], got[-2]["pointsman"]["fallback"]) == ("a", "none")
    assert [n["fault"] for n in world.guard.noted] == [Fault.INVALID_FORMAT]
    assert [row.code for row in world.log.calls] == ["invalid_format"]
    assert world.asked == ["a"]


async def test_a_stream_that_plug_ins_find_good_ends_as_always() -> None:
    world = World({"a": [Says(pieces=["all ", "well"])]})
    world.deps.validators = (Validator(name="fine", check=lambda text, _: None),)
    assert events(await world.ask(stream=True))[-2]["pointsman"]["verdict"] == "clean"


WHOLE_MD = "# Summary\n\nAll is well.\n\n## Risks:\n\n```sh\nls\n```\n"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        pytest.param("# Summary\n\nAll is well.", "missing sections: Risks", id="a heading is missing"),
        pytest.param(WHOLE_MD[:-5], "a code fence is opened and never closed", id="a fence stays open"),
    ],
)
async def test_a_route_that_wants_whole_markdown_asks_again_once_and_says_what_was_missing(bad: str, why: str) -> None:
    world = World({"a": [Says(text=bad), Says(text=WHOLE_MD)]}, markdown=("Summary", "Risks"))
    answer = await world.ask()
    assert answer.json()["choices"][0]["message"]["content"] == WHOLE_MD
    assert why in world.models.asked[1][1].body["messages"][-1]["content"]


async def test_markdown_is_not_looked_at_where_json_or_nothing_is_asked_for() -> None:
    world = World({"a": [Says(text='{"a": 1}')]}, markdown=("Summary",))
    assert (await world.ask(response_format={"type": "json_object"})).headers["x-pointsman-attempts"] == "1"
    assert (await World({"a": [Says(text="plain words")]}).ask()).headers["x-pointsman-attempts"] == "1"


async def test_a_stream_that_is_no_whole_markdown_is_told_in_its_last_event() -> None:
    world = World({"a": [Says(pieces=["# Sum", "mary\n"])]}, markdown=("Summary", "Risks"))
    assert events(await world.ask(stream=True))[-2]["pointsman"]["code"] == "invalid_format"

"""Faults that users of other gateways reported, over real sockets: HTTP 200 and no use (docs/cases.md)."""

import asyncio
from typing import Any

import pytest

from tests.support.raw_upstream import Bytes, chunk, message, raw_world, stream, whole
from tests.support.router_world import events, streamed_text
from upstream.call import Timeouts

FINE = "The tram stops beside the old mill, and a path leads up to the ridge."
GOOD = {False: whole(message(FINE)), True: stream(FINE)}
NOTHING = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
DONE = b"data: [DONE]\n\n"
MENU = {"Dumplings, 12": "28.00", "Noodles": "9.50", "Tea": "3.00", "Steamed bun": "4.20", "Rice": "2.00"}

EMPTY: dict[str, dict[bool, Bytes]] = {
    "no text": {False: whole(message("")), True: stream("")},
    "null": {False: whole(message(None)), True: Bytes(parts=[chunk({"content": None}), chunk({}, "stop"), DONE])},
    "blanks": {False: whole(message("\n \t")), True: stream("\n", " \t")},
    "stop and usage 0": {
        False: whole(message("") | {"usage": NOTHING}),
        True: Bytes(parts=[chunk({}, "stop", usage=NOTHING), DONE]),
    },
    "choices []": {
        False: whole(message("") | {"choices": []}),
        True: Bytes(parts=[chunk(None), chunk(None, usage=NOTHING), DONE]),
    },
    "nothing but DONE": {False: whole({}), True: Bytes(parts=[DONE])},
    "empty tool calls": {
        False: whole(message("", tool_calls=[])),
        True: Bytes(parts=[chunk({"tool_calls": []}), chunk({}, "tool_calls"), DONE]),
    },
}
BOTH = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])


def said(response: Any, streamed: bool) -> str:
    return streamed_text(response) if streamed else response.json()["choices"][0]["message"]["content"]


@BOTH
@pytest.mark.parametrize("how", EMPTY)
async def test_an_empty_200_does_not_end_the_chain(how: str, streamed: bool) -> None:
    async with raw_world({"a": EMPTY[how][streamed], "b": GOOD[streamed]}) as (world, raw):
        response = await world.ask(stream=streamed)
        assert said(response, streamed) == FINE
        assert response.headers["x-pointsman-model"] == "b"
        assert raw.asked == ["a", "b"]
        assert world.guard.noted[0]["fault"].value == "empty_reply", "the breaker hears of it"


@BOTH
async def test_models_that_are_all_empty_give_a_502_with_a_real_status(streamed: bool) -> None:
    answers = dict.fromkeys("abc", EMPTY["choices []"][streamed])
    async with raw_world(answers) as (world, _):
        response = await world.ask(stream=streamed, headers={"x-pointsman-fallback": "none"})
        assert response.status_code == 502
        assert response.json()["error"]["code"] == "empty_reply"


async def test_events_without_choices_anywhere_in_a_stream_are_tolerated() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}
    parts = [chunk(None), chunk({"content": FINE[:20]}), chunk(None, usage=usage), chunk({"content": FINE[20:]})]
    parts += [chunk(None), chunk({}, "stop"), chunk(None, usage=usage), DONE]
    async with raw_world({"a": Bytes(parts=parts)}) as (world, _):
        response = await world.ask(stream=True)
        assert streamed_text(response) == FINE
        assert events(response)[-1] == "[DONE]"
        assert world.log.calls[0].tokens_out == 9


@BOTH
async def test_a_guard_gives_the_same_verdict_streamed_and_whole(streamed: bool) -> None:
    loop = "We could try that again, " * 60
    bad = {False: whole(message(loop)), True: stream(*[loop[i : i + 7] for i in range(0, len(loop), 7)])}
    async with raw_world({"a": bad[streamed], "b": GOOD[streamed]}) as (world, _):
        response = await world.ask(stream=streamed)
        assert said(response, streamed).count("We could try that again") <= 3
        assert world.guard.outcomes == ["a:degenerate", "b:good"]


@BOTH
async def test_a_content_filter_is_handed_on_and_is_no_illness_of_the_model(streamed: bool) -> None:
    filtered = {False: whole(message("", finish="content_filter")), True: stream("", finish="content_filter")}
    async with raw_world({"a": filtered[streamed], "b": GOOD[streamed]}) as (world, raw):
        response = await world.ask(stream=streamed)
        assert response.status_code == 200
        assert b"content_filter" in response.content
        assert world.guard.outcomes == ["a:not_counted"]
        assert raw.asked == ["a"]


TOOL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}


@BOTH
async def test_a_turn_of_tool_calls_alone_is_no_failure(streamed: bool) -> None:
    parts = [chunk({"role": "assistant", "content": None, "tool_calls": [{"index": 0, **TOOL}]})]
    tools = {
        False: whole(message(None, finish="tool_calls", tool_calls=[TOOL])),
        True: Bytes(parts=[*parts, chunk({}, "tool_calls"), DONE]),
    }
    async with raw_world({"a": tools[streamed]}) as (world, raw):
        response = await world.ask(stream=streamed)
        assert b"call_1" in response.content
        assert world.guard.outcomes == ["a:good"]
        assert raw.asked == ["a"]


@BOTH
async def test_identical_chunks_in_a_row_are_no_loop_by_themselves(streamed: bool) -> None:
    rows = "".join(f"{name}{' ' * (40 - len(name))}{price:>6}\n" for name, price in MENU.items())
    text = f"```\n{rows}```\n"
    fine = {False: whole(message(text)), True: stream(*text)}  # a blank a chunk, up to forty of them on end
    async with raw_world({"a": fine[streamed]}) as (world, raw):
        assert said(await world.ask(stream=streamed), streamed) == text
        assert world.guard.outcomes == ["a:good"]
        assert raw.asked == ["a"]


@BOTH
async def test_a_thought_that_loops_is_noticed_and_its_answer_still_comes(streamed: bool) -> None:
    thought = "Wait, let me check the sum once more before I answer. " * 40
    parts = [*(chunk({"reasoning_content": thought[i : i + 9]}) for i in range(0, len(thought), 9))]
    both = {
        False: whole(message(FINE, reasoning_content=thought)),
        True: Bytes(parts=[*parts, chunk({"content": FINE}), chunk({}, "stop"), DONE]),
    }
    async with raw_world({"a": both[streamed], "b": GOOD[streamed]}) as (world, _):
        response = await world.ask(stream=streamed)
        assert said(response, streamed) == FINE
        assert response.text.count("check the sum once more") <= 4
        tried = world.log.calls[0].attempts
        assert [one["model"] for one in tried] == ["a"] and tried[0]["suppressed_chars"] > 1_500, "it is written down"


@BOTH
async def test_a_thought_that_loops_costs_no_tool_call_that_follows_it(streamed: bool) -> None:
    thought = "Wait, let me check the sum once more before I answer. " * 40
    thoughts = [chunk({"reasoning_content": thought[i : i + 9]}) for i in range(0, len(thought), 9)]
    calls = [chunk({"role": "assistant", "content": None, "tool_calls": [{"index": 0, **TOOL}]})]
    both = {
        False: whole(message(None, finish="tool_calls", tool_calls=[TOOL], reasoning_content=thought)),
        True: Bytes(parts=[*thoughts, *calls, chunk({}, "tool_calls"), DONE]),
    }
    async with raw_world({"a": both[streamed], "b": GOOD[streamed]}, timeouts=Timeouts(total_s=60.0)) as (world, raw):
        response = await world.ask(stream=streamed)
        assert b"call_1" in response.content and raw.asked == ["a"]
        assert response.text.count("check the sum once more") <= 4
        assert world.log.calls[0].attempts[0]["suppressed_chars"] > 1_500


async def test_reasoning_that_loops_without_end_is_stopped_and_another_model_answers() -> None:
    thought = "Wait, let me check the sum once more before I answer. "
    endless = Bytes(parts=[chunk({"reasoning_content": thought})], then="beat")
    patient = Timeouts(total_s=60.0)  # what ends the thought is the gate, however slowly this machine runs
    async with raw_world({"a": endless, "b": GOOD[True]}, timeouts=patient) as (world, _), asyncio.timeout(60):
        response = await world.ask(stream=True)
        assert streamed_text(response) == FINE
        assert world.guard.outcomes == ["a:degenerate", "b:good"]
        assert response.text.count("check the sum once more") < 40


@BOTH
async def test_a_limit_spent_on_reasoning_is_told_and_is_no_illness(streamed: bool) -> None:
    thought = "First the tram, then the mill, then the ridge; how long does each part take?"
    spent = {
        False: whole(message("", finish="length", reasoning_content=thought)),
        True: Bytes(parts=[chunk({"reasoning_content": thought}), chunk({}, "length"), DONE]),
    }
    async with raw_world({"a": spent[streamed]}) as (world, raw):
        response = await world.ask(stream=streamed)
        assert response.status_code == 200
        assert b'"length"' in response.content
        assert world.log.calls[0].code == "length_in_reasoning"
        assert world.guard.outcomes == ["a:not_counted"]
        assert raw.asked == ["a"]


@BOTH
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("| a | b |\n| --- | --- |\n" + "".join(f"| {i} | {i * i} |\n" for i in range(30)), id="table"),
        pytest.param("```\n" + "0 0 0 0 0 0 0 0\n" * 8 + "```\n", id="zero grid"),
        pytest.param("```python\n" + "".join(f"x{i} = load({i})\n" for i in range(20)) + "```\n", id="code"),
    ],
)
async def test_repetition_that_belongs_to_the_form_is_not_flagged(text: str, streamed: bool) -> None:
    fine = {False: whole(message(text)), True: stream(*[text[i : i + 9] for i in range(0, len(text), 9)])}
    async with raw_world({"a": fine[streamed]}) as (world, raw):
        assert said(await world.ask(stream=streamed), streamed) == text
        assert world.guard.outcomes == ["a:good"]
        assert raw.asked == ["a"]

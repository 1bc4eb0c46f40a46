"""The cost of a stream: what the model billed, else an estimate that says so; looped tokens stand beside it."""

import json
from typing import Any

import httpx

from detector import GateMode, GatePolicy
from tests.support.router_world import events
from tests.unit.router.test_over_upstream import LOOP, PROSE, Chunks, streamed, whole, world_over

USAGE: dict[str, Any] = {
    "prompt_tokens": 30,
    "completion_tokens": 40,
    "total_tokens": 75,
    "prompt_tokens_details": {"cached_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
ASKED: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


def with_usage(text: str, model: str = "real-name") -> httpx.Response:
    def chunk(choices: list[Any], **more: Any) -> bytes:
        head = {"id": "s", "object": "chat.completion.chunk", "created": 1, "model": model}
        return b"data: " + json.dumps(head | {"choices": choices} | more).encode() + b"\n\n"

    parts = [chunk([{"index": 0, "delta": {"content": text[i : i + 9]}}]) for i in range(0, len(text), 9)]
    parts += [chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}]), chunk([], usage=USAGE), b"data: [DONE]\n\n"]
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Chunks(parts))


async def test_the_models_own_usage_reaches_the_client_with_its_details() -> None:
    world = world_over(lambda _host, _stream: with_usage(PROSE))
    last = events(await world.ask(**ASKED))[-2]
    assert (last["choices"], last["usage"]) == ([], USAGE)
    assert "usage_estimated" not in last["pointsman"] and "suppressed_tokens" not in last["pointsman"]


async def test_a_cut_stream_whose_model_could_not_tell_its_usage_does_not_claim_to_have_cost_nothing() -> None:
    world = world_over(lambda _host, _stream: streamed("Start. " + LOOP), GatePolicy(mode=GateMode.CUT))
    response = await world.ask(**ASKED)
    last = events(response)[-2]
    told = last["pointsman"]
    assert (told["fallback"], told["usage_estimated"]) == ("cut", True)
    assert last["usage"]["prompt_tokens"] > 0
    assert last["usage"]["completion_tokens"] > told["suppressed_tokens"] > 0
    row = world.log.calls[-1]
    assert (row.tokens_in, row.tokens_out) == (last["usage"]["prompt_tokens"], last["usage"]["completion_tokens"])


async def test_looped_tokens_of_a_whole_reply_stand_in_a_header_beside_its_usage() -> None:
    world = world_over(lambda host, _stream: whole(LOOP if host.startswith("a") else PROSE))
    response = await world.ask()
    assert 0 < int(response.headers["x-pointsman-suppressed-tokens"]) <= response.json()["usage"]["completion_tokens"]


async def test_after_a_splice_every_chunk_names_the_model_that_goes_on() -> None:
    world = world_over(lambda host, _stream: streamed("Start. " + LOOP) if host == "a" else with_usage(PROSE, "second"))
    got = events(await world.ask(**ASKED))[:-1]
    assert got[-1]["pointsman"]["fallback"] == "splice"
    names = [event["model"] for event in got]
    assert names == sorted(names) and set(names) == {"real-name", "second"}
    assert got[-1]["model"] == "second"

"""One request, one stream: switched silently while nothing was sent, spliced or cut afterwards."""

import asyncio
import json
from typing import Any

import pytest

from base.faults import Fault
from router.policy import RouterPolicy
from tests.support.router_world import CATALOG, Says, World, down, events, looped, streamed_text, until

HEALTHY = Says(pieces=["Hel", "lo ", "there"])


async def test_a_healthy_stream_passes_event_by_event_and_ends_with_the_truth() -> None:
    world = World({"a": [HEALTHY]})
    response = await world.ask(stream=True)
    got = events(response)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["x-pointsman-model"] == "a"
    assert streamed_text(response) == "Hello there"
    assert got[-1] == "[DONE]"
    assert got[-2]["choices"][0]["finish_reason"] == "stop"
    assert got[-2]["pointsman"] == {
        "request_id": response.headers["x-request-id"],
        "model": "a",
        "attempts": 1,
        "verdict": "clean",
        "fallback": "none",
        "state": "healthy",
    }


@pytest.mark.parametrize(("models", "calls"), [({"a": [HEALTHY]}, "1"), ({"a": [down()], "a2": [HEALTHY]}, "2")])
async def test_the_headers_of_a_stream_count_the_call_that_is_answering(
    models: dict[str, list[Says]], calls: str
) -> None:
    response = await World(models).ask(stream=True)
    assert response.headers["x-pointsman-attempts"] == calls
    assert events(response)[-2]["pointsman"]["attempts"] == int(calls)


async def test_usage_comes_as_one_last_chunk_when_asked_for_and_not_otherwise() -> None:
    asked = events(await World({"a": [HEALTHY]}).ask(stream=True, stream_options={"include_usage": True}))
    assert asked[-2]["choices"] == []
    assert asked[-2]["usage"]["total_tokens"] == 15
    assert "pointsman" in asked[-2]
    assert all("usage" not in e for e in events(await World({"a": [HEALTHY]}).ask(stream=True))[:-1])


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(Says(text="", pieces=[], fault=Fault.EMPTY), id="empty"),
        pytest.param(looped(), id="looped inside the hold"),
        pytest.param(down(), id="server error"),
        pytest.param(down(Fault.TIMEOUT_FIRST_TEXT), id="no first text"),
    ],
)
async def test_before_anything_was_sent_another_endpoint_answers_silently(bad: Says) -> None:
    world = World({"a": [bad], "a2": [bad], "b": [HEALTHY]})
    response = await world.ask(stream=True)
    assert streamed_text(response) == "Hello there"
    assert (response.headers["x-pointsman-model"], response.headers["x-pointsman-fallback"]) == ("b", "model")
    assert "id-a" not in response.text, "headers and ids tell who really answered"


async def test_a_loop_after_text_was_sent_is_spliced_into_one_stream() -> None:
    world = World(
        {
            "a": [looped(pieces=["The train ", "leaves at nine "])],
            "a2": [Says(pieces=["leaves ", "at nine and", " arrives at ten."])],
        }
    )
    response = await world.ask(stream=True, stream_options={"include_usage": True})
    got = events(response)
    assert streamed_text(response) == "The train leaves at nine and arrives at ten."
    assert {e["id"] for e in got[:-1]} == {"id-a"}
    assert sum(1 for e in got[:-1] if e["choices"] and e["choices"][0]["finish_reason"]) == 1
    assert got[-2]["pointsman"]["fallback"] == "splice"
    assert got[-2]["usage"]["total_tokens"] == 30
    assert world.models.asked[1][1].body["messages"][-1] == {
        "role": "assistant",
        "content": "The train leaves at nine ",
    }
    assert world.guard.outcomes == ["a:degenerate", "a:good"]


async def test_a_spliced_reply_is_judged_as_one() -> None:
    line = "We could go and see the old lighthouse. "
    world = World({"a": [looped(pieces=[line * 3])], "a2": [Says(pieces=["Well. ", line * 8])]})
    response = await world.ask(stream=True)
    assert events(response)[-2]["pointsman"]["verdict"] == "degenerate"
    assert world.log.calls[0].verdict == "degenerate"


async def test_a_model_without_prefill_is_told_to_go_on() -> None:
    world = World({"a": [looped(pieces=["The train "])], "a2": [Says(pieces=["leaves."])]}, capabilities=frozenset())
    assert streamed_text(await world.ask(stream=True)) == "The train leaves."
    last = world.models.asked[1][1].body["messages"][-1]
    assert last["role"] == "user"
    assert "Continue" in last["content"]


async def test_a_loop_that_no_model_can_continue_is_cut_politely() -> None:
    world = World({"a": [looped(pieces=["今天天气"])], **{n: [looped()] for n in ("a2", "b", "c")}})
    response = await world.ask(stream=True, messages=[{"role": "user", "content": "天气"}])
    got = events(response)
    assert streamed_text(response).startswith("今天天气\n\n")
    assert streamed_text(response).endswith(tuple(CATALOG.languages["zh"].closing))
    assert got[-1] == "[DONE]"
    assert got[-2]["choices"][0]["finish_reason"] == "stop"
    assert got[-2]["pointsman"]["fallback"] == "cut"
    assert got[-2]["pointsman"]["code"] == "repetition_detected"


async def test_who_forbade_fallbacks_gets_an_error_event_instead_of_a_splice() -> None:
    world = World({"a": [looped(pieces=["The train "])]})
    response = await world.ask(stream=True, headers={"x-pointsman-fallback": "none"})
    got = events(response)
    assert got[-1]["error"]["code"] == "repetition_detected"
    assert world.asked == ["a"]


async def test_a_stream_that_broke_and_cannot_go_on_never_looks_like_a_whole_one() -> None:
    broken = down(Fault.BROKEN_STREAM, pieces=["The train "])
    world = World({"a": [broken]}, names=("a",), spares=())
    response = await world.ask(stream=True)
    got = events(response)
    assert got[-1]["error"]["code"] == "broken_stream"
    assert "[DONE]" not in response.text
    assert all(not e["choices"][0]["finish_reason"] for e in got[:-1])
    assert world.guard.outcomes == ["a:failed"]


async def test_a_stream_with_tool_calls_is_never_spliced() -> None:
    world = World({"a": [Says(pieces=[], tools=True, fault=Fault.BROKEN_STREAM)]})
    response = await world.ask(stream=True)
    assert events(response)[-1]["error"]["code"] == "broken_stream"
    assert world.asked == ["a"]


async def test_a_tool_only_stream_is_a_good_reply() -> None:
    world = World({"a": [Says(pieces=[], tools=True)]})
    response = await world.ask(stream=True)
    assert events(response)[-1] == "[DONE]"
    assert "tool_calls" in response.text
    assert world.guard.outcomes == ["a:good"]


async def test_reasoning_counts_as_sent_and_the_text_then_comes_from_another_model() -> None:
    world = World({"a": [Says(pieces=[], reasoning="hm", fault=Fault.REPETITION)], "a2": [HEALTHY]})
    response = await world.ask(stream=True)
    assert streamed_text(response) == "Hello there"
    assert events(response)[-2]["pointsman"]["fallback"] == "splice"


async def test_when_nothing_could_be_sent_the_phrase_comes_as_a_stream() -> None:
    world = World({n: [looped()] for n in ("a", "a2", "b", "c")})
    response = await world.ask(stream=True)
    assert streamed_text(response) in CATALOG.languages["en"].scenes["chat"]
    assert events(response)[-2]["pointsman"]["fallback"] == response.headers["x-pointsman-fallback"] == "phrase"


async def test_an_error_before_the_first_byte_has_a_real_status() -> None:
    world = World({n: [looped()] for n in ("a", "a2", "b", "c")})
    response = await world.ask(stream=True, headers={"x-pointsman-fallback": "none"})
    assert (response.status_code, response.json()["error"]["code"]) == (502, "repetition_detected")


async def test_every_upstream_is_closed_when_its_attempt_is_over() -> None:
    world = World({"a": [down()], "a2": [HEALTHY]})
    await world.ask(stream=True)
    assert world.models.closed == ["a", "a2"]


class Client:
    """An ASGI client that may hang up when it likes."""

    def __init__(self, **fields: Any) -> None:
        body = {"model": "main", "messages": [{"role": "user", "content": "hi"}], **fields}
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._inbox.put_nowait({"type": "http.request", "body": json.dumps(body).encode()})
        self.got: list[dict[str, Any]] = []
        self.heard = asyncio.Event()

    def hang_up(self) -> None:
        self._inbox.put_nowait({"type": "http.disconnect"})

    async def receive(self) -> dict[str, Any]:
        return await self._inbox.get()

    async def send(self, message: Any) -> None:
        self.got.append(message)
        if message["type"] == "http.response.body":
            self.heard.set()

    def call(self, world: World) -> "asyncio.Task[None]":
        scope = {"type": "http", "path": "/v1/chat/completions", "method": "POST", "headers": []}
        return asyncio.create_task(world.app(scope, self.receive, self.send))


@pytest.mark.parametrize("stream", [True, False])
async def test_when_the_client_hangs_up_the_upstream_is_closed_and_the_model_is_not_blamed(stream: bool) -> None:
    world = World({"a": [Says(pieces=["The train "], hang=True)]})
    client = Client(stream=stream)
    serving = client.call(world)
    await until(lambda: world.asked and (client.heard.is_set() or not stream))
    client.hang_up()
    await asyncio.wait_for(serving, 60)
    assert world.models.closed == ["a"]
    assert world.guard.outcomes == ["a:not_counted"]
    (row,) = world.log.calls
    assert (row.status, row.code) == (499, "abandoned")
    assert [one["fault"] for one in row.attempts] == ["abandoned"]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_request_cut_by_our_own_shutdown_is_not_blamed_on_its_client(stream: bool) -> None:
    world = World({"a": [Says(pieces=["The train "], hang=True)]})
    client = Client(stream=stream)
    serving = client.call(world)
    await until(lambda: world.asked and (client.heard.is_set() or not stream))
    serving.cancel()  # as a server does that stops
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(serving, 60)
    assert world.models.closed == ["a"]
    (row,) = world.log.calls
    assert (row.status, row.code, row.verdict) == (503, "shutting_down", "ended_by_us")
    assert [one["fault"] for one in row.attempts] == ["ended_by_us"]
    assert world.guard.outcomes == ["a:not_counted"]


async def test_a_client_that_leaves_before_its_request_is_whole_costs_no_call() -> None:
    world = World()
    client = Client()
    client._inbox.get_nowait()
    client.hang_up()
    await asyncio.wait_for(client.call(world), 60)
    assert world.asked == []


async def test_a_silent_stream_is_kept_alive_by_comments_that_are_no_events() -> None:
    world = World({"a": [Says(pieces=["The train "], hang=True)]}, policy=RouterPolicy(keepalive_s=0.01))
    client = Client(stream=True)
    serving = client.call(world)
    await client.heard.wait()
    world.clock.tick(60.0)
    for _ in range(200):
        if any(m.get("body") == b": keep-alive\n\n" for m in client.got):
            break
        await asyncio.sleep(0.005)
    else:
        pytest.fail("no comment came")
    client.hang_up()
    await asyncio.wait_for(serving, 60)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_deadline_that_passes_in_the_middle_of_a_stream_ends_it_with_a_closing_line_and_the_truth(
    language: str,
) -> None:
    late = down(Fault.TIMEOUT_TOTAL, pieces=["The train "])
    world = World({"a": [late]}, names=("a",), spares=(), language=language)
    response = await world.ask(stream=True)
    got = events(response)
    assert streamed_text(response).startswith("The train \n\n")
    assert streamed_text(response).endswith(tuple(CATALOG.languages[language].closing))
    assert got[-1] == "[DONE]" and got[-2]["choices"][0]["finish_reason"] == "stop"
    assert (got[-2]["pointsman"]["fallback"], got[-2]["pointsman"]["code"]) == ("cut", "timeout_total")
    assert world.guard.outcomes == ["a:failed"], "a late model is no good model"
    assert world.log.calls[0].code == "timeout_total"


async def test_at_the_deadline_who_forbade_fallbacks_or_got_tool_calls_gets_an_error_event() -> None:
    late = down(Fault.TIMEOUT_TOTAL, pieces=["The train "])
    world = World({"a": [late]}, names=("a",), spares=())
    plain = await world.ask(stream=True, headers={"x-pointsman-fallback": "none"})
    assert events(plain)[-1]["error"]["code"] == "timeout_total"
    tools = World({"a": [Says(pieces=[], tools=True, fault=Fault.TIMEOUT_TOTAL)]}, names=("a",), spares=())
    assert events(await tools.ask(stream=True))[-1]["error"]["code"] == "timeout_total"

"""Faults that users of other gateways reported, over real sockets: streams, and clients that leave (docs/cases.md)."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.raw_upstream import Bytes, chunk, raw_world, stream, whole
from tests.support.router_world import World, events, streamed_text
from upstream.call import Timeouts

FINE = "The tram stops beside the old mill, and a path leads up to the ridge."
DONE = b"data: [DONE]\n\n"
BUSY = {"error": {"message": "overloaded", "type": "server_error", "code": None}}


def sse(body: Any) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(stream(FINE[:20], finish=None, then="reset"), id="reset"),
        pytest.param(stream(FINE[:20], finish=None), id="closed without its end"),
        pytest.param(Bytes(parts=[chunk({"content": FINE[:20]}), b'data: {"id": "s", "cho']), id="cut inside an event"),
        pytest.param(stream(FINE[:20], finish=None, then="stall"), id="silent for ever"),
    ],
)
async def test_a_cut_stream_never_ends_as_a_clean_one(answer: Bytes) -> None:
    async with raw_world({"a": answer}, names="a") as (world, _):
        response = await world.ask(stream=True)
        got = events(response)
        assert "error" in got[-1]
        assert "[DONE]" not in response.text
        assert not any(c.get("finish_reason") for e in got for c in e.get("choices", ()))
        assert streamed_text(response) == FINE[:20]
        assert world.guard.outcomes == ["a:failed"]
        assert world.log.calls[0].code == got[-1]["error"]["code"]


FIRST = {
    "error object": Bytes(parts=[sse(BUSY)]),
    "error event": Bytes(parts=[b"event: error\n" + sse(BUSY)]),
    "vLLM's": Bytes(parts=[sse({"object": "error", "message": "CUDA", "code": 500})]),
    "code and message": Bytes(parts=[sse({"code": "InternalError", "message": "busy"})]),
    "a sentence": Bytes(parts=[sse({"error": "upstream exploded"})]),
    "an exception's text": Bytes(parts=[b"data: Traceback (most recent call last):\n\n"]),
    "JSON instead of a stream": whole(BUSY),
    "HTML under 200": whole(b"<html>oops</html>", kind="text/html"),
    "after the role": Bytes(parts=[chunk({"role": "assistant", "content": ""}), sse(BUSY)]),
    "brackets without end": Bytes(parts=[b"data: " + b"[" * 100_000 + b"\n\n"]),
}


@pytest.mark.parametrize("how", FIRST)
async def test_an_error_as_first_event_under_200_is_a_hard_failure_and_falls_back(how: str) -> None:
    async with raw_world({"a": FIRST[how], "b": stream(FINE)}) as (world, _):
        response = await world.ask(stream=True)
        assert response.headers["x-pointsman-model"] == "b"
        assert streamed_text(response) == FINE
        assert "error" not in events(response)[0]
        assert world.guard.outcomes == ["a:failed", "b:good"]


async def test_a_continuation_that_a_fallback_rejects_does_not_hide_the_first_error() -> None:
    rejected = whole({"error": {"message": "prefill is not supported"}}, status=400)
    answers = {"a": stream(FINE[:20], finish=None, then="reset"), "b": rejected, "c": rejected}
    async with raw_world(answers) as (world, raw):
        response = await world.ask(stream=True)
        assert raw.asked == ["a", "b", "c"], "the words were ours: another model may still take them"
        assert events(response)[-1]["error"]["code"] == "broken_stream"
        assert world.guard.outcomes == ["a:failed", "b:not_counted", "c:not_counted"]


async def test_a_continuation_that_one_model_rejects_is_given_to_the_next() -> None:
    answers = {"a": stream(FINE[:20], finish=None, then="reset"), "b": whole({}, status=400), "c": stream(FINE[20:])}
    async with raw_world(answers) as (world, _):
        response = await world.ask(stream=True)
        assert streamed_text(response) == FINE
        assert events(response)[-2]["pointsman"]["model"] == "c"


async def test_who_disabled_fallbacks_gets_none_in_the_middle_of_a_stream() -> None:
    answers = {"a": stream(FINE[:20], finish=None, then="reset"), "b": stream(FINE)}
    async with raw_world(answers) as (world, raw):
        response = await world.ask(stream=True, headers={"x-pointsman-fallback": "none"})
        assert raw.asked == ["a"]
        assert events(response)[-1]["error"]["code"] == "broken_stream"


async def test_a_timeout_in_the_middle_of_a_stream_is_logged_as_one() -> None:
    async with raw_world({"a": stream(FINE[:20], finish=None, then="stall")}, names="a") as (world, _):
        await world.ask(stream=True)
        row = world.log.calls[0]
        assert (row.code, row.attempts[0]["fault"]) == ("timeout_idle", "timeout_idle")
        assert world.guard.outcomes == ["a:failed"]


@pytest.mark.parametrize("tells", ["tells", "structured"])
@pytest.mark.parametrize("alone", [True, False], ids=["the only candidate", "one of two"])
async def test_a_stream_that_stalls_is_ended_by_its_gap_although_a_first_word_is_given_longer(
    alone: bool, tells: str
) -> None:
    """`first_text_s` above `idle_s`, as by default; the last candidate has all the time there is for its first word."""
    limits = Timeouts(connect_s=5.0, first_text_s=400.0, idle_s=0.4, total_s=1_000.0)
    begun = FINE[:20] if tells == "tells" else '{"a": "'
    answers = {
        "a": stream(begun, finish=None, then="stall"),
        "b": stream(FINE[20:] if tells == "tells" else '{"a": 1}'),
    }
    more = {"response_format": {"type": "json_object"}} if tells == "structured" else {}
    async with raw_world(answers, names="a" if alone else "ab", timeouts=limits) as (world, _), asyncio.timeout(60):
        response = await world.ask(stream=True, **more)
        row = world.log.calls[0]
        assert row.attempts[0]["fault"] == "timeout_idle"
        assert world.guard.outcomes[0] == "a:failed"
        if not alone:
            assert row.attempts[-1]["model"] == "b"
            assert streamed_text(response) == (FINE if tells == "tells" else '{"a": 1}')


@pytest.mark.parametrize(
    "beat",
    [
        pytest.param(b": keep-alive\n\n", id="comments"),
        pytest.param(chunk({"content": ""}), id="empty deltas"),
        pytest.param(chunk({"role": "assistant"}), id="role again"),
        pytest.param(chunk({"content": None, "tool_calls": []}), id="no tools"),
        pytest.param(chunk(None), id="no choices"),
        pytest.param(b"event: ping\ndata: {}\n\n", id="pings"),
    ],
)
@pytest.mark.parametrize("begun", [False, True], ids=["before text", "after text"])
async def test_keep_alives_do_not_hold_a_dead_stream_open(beat: bytes, begun: bool) -> None:
    parts = ([chunk({"content": FINE[:20]})] if begun else []) + [beat]
    answers = {"a": Bytes(parts=parts, then="beat"), "b": stream(FINE[20:] if begun else FINE)}
    async with raw_world(answers) as (world, _), asyncio.timeout(60):
        response = await world.ask(stream=True)
        assert streamed_text(response) == FINE
        assert world.log.calls[0].attempts[0]["fault"] == ("timeout_idle" if begun else "timeout_first_text")


def bits(parts: list[bytes], step: int) -> list[bytes]:
    data = b"".join(parts)
    return [data[i : i + step] for i in range(0, len(data), step)]


@pytest.mark.parametrize("step", [1, 2, 3, 5, 64])
async def test_characters_and_usage_split_over_reads_are_whole(step: int) -> None:
    text = "桥上的电车🚋停在老磨坊旁边，然后上山。naïve café"
    usage = {"prompt_tokens": 3, "completion_tokens": 21, "total_tokens": 24}
    parts = [
        chunk({"content": text[:9]}),
        chunk({"content": text[9:]}),
        chunk({}, "stop"),
        chunk(None, usage=usage),
        DONE,
    ]
    async with raw_world({"a": Bytes(parts=bits(parts, step))}) as (world, _):
        response = await world.ask(stream=True, stream_options={"include_usage": True})
        assert streamed_text(response) == text
        assert events(response)[-2]["usage"]["completion_tokens"] == 21
        assert world.log.calls[0].tokens_out == 21


async def test_usage_after_the_finish_is_kept_when_the_upstream_stops_without_done() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 21, "total_tokens": 24}
    parts = [chunk({"content": FINE}), chunk({}, "stop"), chunk(None, usage=usage)]
    async with raw_world({"a": Bytes(parts=parts)}) as (world, _):
        assert streamed_text(await world.ask(stream=True)) == FINE
        assert world.log.calls[0].tokens_out == 21


async def test_what_was_written_is_kept_when_the_client_leaves_after_the_last_words() -> None:
    seen = asyncio.Event()
    usage = {"prompt_tokens": 3, "completion_tokens": 21, "total_tokens": 24}
    last = chunk(None, usage=usage) + DONE
    answer = Bytes(parts=[chunk({"content": FINE}), chunk({}, "stop"), last], before_last=seen)
    async with raw_world({"a": answer}) as (world, raw):
        client = Client(world, streamed=True)
        await within(60, lambda: FINE.encode() in client.got)
        await client.leave()
        seen.set()
        await within(60, lambda: world.log.calls)
        row = world.log.calls[0]
        assert row.tokens_out > 0, "the vendor bills what it wrote"
        assert row.served_model == "a" and world.guard.outcomes in (["a:good"], ["a:not_counted"])
        assert raw.asked == ["a"]


@pytest.mark.parametrize(
    "path, asked",
    [("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}), ("/v1/completions", {"prompt": "x"})],
)
@pytest.mark.parametrize("how", ["refused", "error first", "cut"])
async def test_every_kind_of_stream_falls_back_alike(path: str, asked: dict[str, Any], how: str) -> None:
    legacy = path == "/v1/completions"

    def told(text: str, finish: str | None = None) -> bytes:
        choice = {"index": 0, "text": text, "finish_reason": finish}
        return (
            sse({"id": "s", "object": "text_completion", "choices": [choice]})
            if legacy
            else chunk({"content": text}, finish)
        )

    bad = {
        "refused": whole(BUSY, status=503),
        "error first": Bytes(parts=[sse(BUSY)]),
        "cut": Bytes(parts=[told(FINE[:20])], then="reset"),
    }[how]
    rest = FINE[20:] if how == "cut" else FINE
    good = Bytes(parts=[told(rest), told("", "stop"), DONE])
    async with raw_world({"a": bad, "b": good}) as (world, raw):
        response = await world.request("POST", path, json={"model": "main", "stream": True, **asked})
        choices = [c for e in events(response)[:-1] for c in e.get("choices", ())]
        assert "".join(c["text"] if legacy else c["delta"].get("content") or "" for c in choices) == FINE
        assert [c["finish_reason"] for c in choices if c.get("finish_reason")] == ["stop"]
        assert raw.asked == ["a", "b"] and world.guard.outcomes == ["a:failed", "b:good"]


async def test_ids_names_and_places_of_tool_calls_pass_as_they_came() -> None:
    deltas: list[dict[str, Any]] = [
        {"index": 1, "id": "call_b", "type": "function", "function": {"name": "second", "arguments": ""}},
        {"index": 0, "id": "call_a", "type": "function", "function": {"name": "first", "arguments": '{"x"'}},
        {"index": 1, "function": {"arguments": "{}"}},
        {"index": 0, "function": {"arguments": ":1}"}, "vendor_field": [1, None]},
    ]
    parts = [chunk({"tool_calls": [d]}) for d in deltas]
    async with raw_world({"a": Bytes(parts=[*parts, chunk({}, "tool_calls"), DONE])}) as (world, _):
        response = await world.ask(stream=True)
        for part in parts:
            assert part in response.content, "byte for byte"


class Client:
    """A client that reads until it has had enough, then is gone."""

    def __init__(self, world: World, *, streamed: bool) -> None:
        self.got = b""
        self._leave = asyncio.Event()
        body = {"model": "main", "messages": [{"role": "user", "content": "x"}], "stream": streamed}
        self._sent = json.dumps(body).encode()
        scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": []}
        self.serving = asyncio.create_task(world.app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._sent:
            body, self._sent = self._sent, b""
            return {"type": "http.request", "body": body}
        await self._leave.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.got += message.get("body", b"")

    async def leave(self) -> None:
        self._leave.set()
        await self.serving


async def within(limit_s: float, true: Callable[[], object]) -> None:
    """Wait for what another task does on a socket; fail when it takes longer."""
    for _ in range(int(limit_s * 200)):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"not within {limit_s} s")


async def test_an_error_event_after_text_was_sent_is_told_as_an_error() -> None:
    seen = asyncio.Event()
    answer = Bytes(parts=[chunk({"content": FINE}), sse(BUSY)], before_last=seen)
    async with raw_world({"a": answer}, names="a") as (world, _):
        client = Client(world, streamed=True)
        await within(60, lambda: FINE.encode() in client.got)
        seen.set()
        await client.serving
        assert b'"code":"server_error"' in client.got
        assert b"[DONE]" not in client.got
        assert b'"finish_reason": "stop"' not in client.got
        assert world.guard.outcomes == ["a:failed"]


@pytest.mark.parametrize("phase", ["before the first text", "in the middle of a stream", "whole"])
async def test_a_client_that_leaves_stops_the_upstream_within_a_second(phase: str) -> None:
    begun = phase == "in the middle of a stream"
    answer = Bytes(parts=[chunk({"content": FINE}) if begun else b": wait\n\n"], then="stall")
    limits = Timeouts(first_text_s=300, idle_s=300, total_s=300)
    async with raw_world({"a": answer}, names="a", timeouts=limits) as (world, raw):
        client = Client(world, streamed=phase != "whole")
        await within(60, lambda: FINE.encode() in client.got if begun else raw.asked)
        await client.leave()
        await within(60, lambda: raw.left)
        assert world.guard.outcomes == ["a:not_counted"]
        assert (world.log.calls[0].status, world.log.calls[0].code) == (499, "abandoned")

"""The router over the real upstream client and the real guard, without a socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from random import Random

import httpx
import pytest

from breaker.guard import Guard
from breaker.levels import Level
from breaker.policy import BreakerPolicy
from router.ports import BreakerGuard, Models
from store.memory import MemoryCounts, MemoryLease, MemoryProbes, MemoryStates, MemoryTransitions
from tests.support.router_world import CATALOG, World, events, streamed_text
from upstream.client import Upstream

LOOP = "我们可以试试看吧，" * 60
PROSE = "The tram stops beside the old mill, and from there a path leads up to the ridge in about an hour."


class Chunks(httpx.AsyncByteStream):
    def __init__(self, parts: list[bytes]) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


def whole(text: str) -> httpx.Response:
    message = {"role": "assistant", "content": text}
    body = {
        "id": "c",
        "object": "chat.completion",
        "model": "real-name",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }
    return httpx.Response(200, json=body)


def streamed(text: str, *, step: int = 6, end: bool = True) -> httpx.Response:
    def event(delta: dict[str, str], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"id": "s", "object": "chat.completion.chunk", "created": 1, "model": "real-name", "choices": [choice]}
        return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"

    parts = [event({"role": "assistant", "content": ""})]
    parts += [event({"content": text[i : i + step]}) for i in range(0, len(text), step)]
    if end:
        parts += [event({}, "stop"), b"data: [DONE]\n\n"]
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Chunks(parts))


def world_over(answer: Callable[[str, bool], httpx.Response]) -> World:
    world = World()

    def handle(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/v1/chat/completions"
        body = json.loads(request.content)
        return answer(request.url.host, bool(body.get("stream")))

    world.deps.models = Upstream(httpx.MockTransport(handle), world.clock)
    guard = Guard(
        ("a", "b", "c"),
        BreakerPolicy(),
        MemoryCounts(world.clock),
        MemoryStates(),
        MemoryProbes(world.clock),
        MemoryLease(world.clock),
        MemoryTransitions(),
        world.clock,
        Random(1),
        "boot",
        world.clock.now_s,
    )
    world.deps.guard = guard
    return world


def test_the_real_client_and_the_real_guard_fulfil_the_routers_ports() -> None:
    world = world_over(lambda _host, _stream: whole(PROSE))
    models: Models = world.deps.models
    guard: BreakerGuard = world.deps.guard
    assert models is not None
    assert guard.levels()["a"].value == "healthy"


async def test_a_whole_loop_is_replaced_by_another_models_answer() -> None:
    world = world_over(lambda host, _stream: whole(LOOP if host.startswith("a") else PROSE))
    response = await world.ask()
    assert response.json()["choices"][0]["message"]["content"] == PROSE
    assert response.headers["x-pointsman-model"] == "b"
    assert world.log.failed[0].loop_class


async def test_a_streamed_loop_is_spliced_before_the_client_sees_it() -> None:
    world = world_over(lambda host, _stream: streamed("Start. " + LOOP if host == "a" else PROSE))
    response = await world.ask(stream=True)
    text = streamed_text(response)
    assert text.count("我们可以试试看吧") <= 3
    assert text.endswith(PROSE[-40:])
    assert events(response)[-2]["pointsman"]["attempts"] == 2
    assert events(response)[-1] == "[DONE]"


async def test_a_healthy_stream_comes_out_as_it_went_in() -> None:
    world = world_over(lambda _host, _stream: streamed(PROSE))
    response = await world.ask(stream=True)
    assert streamed_text(response) == PROSE
    assert response.headers["x-pointsman-verdict"] in ("clean", "none")


@pytest.mark.parametrize("stream", [True, False])
async def test_when_every_model_is_down_the_phrase_answers(stream: bool) -> None:
    world = world_over(lambda _host, _stream: httpx.Response(500, json={"error": {"message": "boom"}}))
    response = await world.ask(stream=stream)
    said = streamed_text(response) if stream else response.json()["choices"][0]["message"]["content"]
    assert said in CATALOG.languages["en"].scenes["chat"]
    assert response.headers["x-pointsman-fallback"] == "phrase"


async def test_a_stream_cut_by_the_upstream_goes_on_with_another_model() -> None:
    world = world_over(lambda host, _stream: streamed(PROSE[:42], end=False) if host == "a" else streamed(PROSE[42:]))
    response = await world.ask(stream=True)
    assert streamed_text(response) == PROSE
    assert events(response)[-2]["pointsman"]["fallback"] == "splice"


@pytest.mark.parametrize("stream", [True, False])
async def test_the_callers_mistake_keeps_its_status_and_is_not_retried(stream: bool) -> None:
    hosts: list[str] = []

    def answer(host: str, _stream: bool) -> httpx.Response:
        hosts.append(host)
        return httpx.Response(400, json={"error": {"message": "bad tool"}})

    response = await world_over(answer).ask(stream=stream)
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "bad tool"
    assert hosts == ["a"]


async def test_a_model_that_answers_500_over_and_over_is_asked_no_more_after_two_seconds() -> None:
    asked = 0

    def answer(host: str, _stream: bool) -> httpx.Response:
        nonlocal asked
        asked += host.startswith("a")
        return httpx.Response(500, json={}) if host.startswith("a") else whole(PROSE)

    world = world_over(answer)
    guard = world.deps.guard
    assert isinstance(guard, Guard)
    running = asyncio.create_task(guard.run())
    try:
        for _ in range(100):
            response = await world.ask()
            assert response.headers["x-pointsman-model"] == "b"
            await world.clock.advance(0.1)
            if guard.levels()["a"] is Level.OPEN:
                break
        # Ten requests a second, each asking the model and its spare, for the two seconds that a trip may take.
        assert 0 < asked <= 2 * 10 * 2
        asked = 0
        for _ in range(25):
            await world.ask()
        assert asked == 0
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

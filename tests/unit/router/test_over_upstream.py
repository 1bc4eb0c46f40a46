"""The router over the real upstream client and the real guard, without a socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from random import Random

import httpx
import pytest

from breaker.guard import Guard
from breaker.levels import Level
from breaker.policy import BreakerPolicy
from breaker.seen import Seen, look
from breaker.triggers.soft import soft_failures, unreadable_json
from breaker.triggers.stuck import stuck_streams
from detector import GateMode, GatePolicy
from router.ports import BreakerGuard, Models
from store.memory import MemoryCounts, MemoryLease, MemoryProbes, MemoryStates, MemoryTransitions
from tests.support.router_world import CATALOG, World, events, streamed_text
from upstream.client import Upstream

LOOP = "我们可以试试看吧，" * 60
STORY = (
    "To fit the wheel, loosen the four bolts a quarter turn, lift the axle with the jack beside the rear door, and take "
    "the bolts out in the order one, three, two, four. Keep the washers with their bolts. Put the new wheel on so that "
    "its valve looks outward, and tighten the bolts crosswise with the long key from the tool roll under the seat."
)
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


def world_over(answer: Callable[[str, bool], httpx.Response], gate: GatePolicy | None = None) -> World:
    world = World()
    world.deps.gate = gate or GatePolicy()

    def handle(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/v1/chat/completions"
        body = json.loads(request.content)
        return answer(request.url.host, bool(body.get("stream")))

    world.deps.models = Upstream(httpx.MockTransport(handle), world.clock, gate)
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
    assert said in CATALOG.languages["en"].unreachable
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


@pytest.mark.parametrize("mode", [GateMode.SPLICE, GateMode.CUT, GateMode.RETRY])
async def test_streams_that_the_gate_ends_at_once_are_counted_as_stuck(mode: GateMode) -> None:
    answers = {True: "Start. " + LOOP, False: PROSE}
    world = world_over(lambda host, _stream: streamed(answers[host.startswith("a")]), GatePolicy(mode=mode))
    for at in range(12):
        await world.ask(stream=True, headers={"x-pointsman-session": f"s{at % 4}"})
    guard = world.deps.guard
    assert isinstance(guard, Guard)
    minutes, fast = guard.counters.local("a")
    now_s = world.clock.now_s()
    read = stuck_streams(look(Seen(minutes=minutes, fast=fast), watermark=0.0, now_s=now_s, grace_s=2.0), guard.policy)
    assert (read.value, read.fired) == (read.n, True)
    assert read.n >= 12
    assert not any(row.stuck for row in guard.counters.local("b")[1])


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("asked_for", ["text", "json_object"])
async def test_a_model_that_answers_nothing_or_no_json_is_switched_away_from_and_warned_about(
    stream: bool, asked_for: str
) -> None:
    text = "" if asked_for == "text" else PROSE
    answers = {True: text, False: PROSE if asked_for == "text" else '{"tram": 4}'}
    world = world_over(lambda host, s: (streamed if s else whole)(answers[host.startswith("a")]))
    for _ in range(30):
        response = await world.ask(stream=stream, response_format={"type": asked_for})
        assert response.headers["x-pointsman-model"] == "b"
    guard = world.deps.guard
    assert isinstance(guard, Guard)
    for model, ill in (("a", True), ("b", False)):
        minutes, _ = guard.counters.local(model)
        now_s = 60.0 * (minutes[-1].minute + 1) + 3
        view = look(Seen(minutes=minutes), watermark=0.0, now_s=now_s, grace_s=2.0)
        read = soft_failures(view, guard.policy)
        assert (read.known, read.fired, read.value) == (True, ill, float(ill))
        assert unreadable_json(view, guard.policy).fired is (ill and asked_for == "json_object")


def said_before(times: int) -> list[dict[str, str]]:
    turns = [{"role": "user", "content": "go"}, {"role": "assistant", "content": STORY}] * times
    return [*turns, {"role": "user", "content": "on"}]


@pytest.mark.parametrize(("times", "repeats"), [(1, 0), (2, 1)])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_restatement_is_a_repeat_from_the_second_in_a_row_and_never_a_stuck_stream(
    times: int, repeats: int, stream: bool
) -> None:
    world = world_over(
        lambda host, s: (streamed if s else whole)(STORY if host.startswith("a") else "Something new comes next.")
    )
    response = await world.ask(stream=stream, messages=said_before(times))
    assert STORY not in response.text
    guard = world.deps.guard
    assert isinstance(guard, Guard)
    (minute, *_), (fast, *_) = guard.counters.local("a")
    calls = minute.counts.judged
    assert calls >= 1
    assert (minute.counts.restatement, fast.stuck) == (repeats * calls, 0)


async def test_mode_cut_closes_a_reply_that_was_shown_instead_of_letting_another_model_go_on() -> None:
    world = world_over(
        lambda host, _s: streamed("Start. " + LOOP if host == "a" else PROSE), GatePolicy(mode=GateMode.CUT)
    )
    response = await world.ask(stream=True)
    assert PROSE not in streamed_text(response)
    last = events(response)[-2]
    assert (last["pointsman"]["fallback"], last["pointsman"]["attempts"]) == ("cut", 1)
    assert last["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(("retries", "calls"), [(0, 1), (1, 2), (2, 3)])
async def test_mode_retry_tries_a_loop_that_was_not_shown_again_so_often_and_no_more(retries: int, calls: int) -> None:
    gate = GatePolicy(mode=GateMode.RETRY, max_loop_retries=retries)
    world = world_over(lambda _host, _stream: streamed(STORY), gate)
    response = await world.ask(stream=True, messages=said_before(1))
    truth = events(response)[-2]["pointsman"]
    assert (truth["attempts"], truth["fallback"], truth["code"]) == (calls, "phrase", "repetition_detected")


async def test_mode_retry_cuts_what_was_shown() -> None:
    gate = GatePolicy(mode=GateMode.RETRY)
    world = world_over(lambda host, _stream: streamed("Start. " + LOOP if host == "a" else PROSE), gate)
    truth = events(await world.ask(stream=True))[-2]["pointsman"]
    assert (truth["attempts"], truth["fallback"]) == (1, "cut")


@pytest.mark.parametrize("stream", [False, True])
async def test_an_endpoints_defaults_bring_no_penalty_back_into_a_structured_call(stream: bool) -> None:
    asked: list[dict[str, object]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content))
        return streamed('{"a": 1}') if stream else whole('{"a": 1}')

    world = world_over(lambda _host, _stream: whole(PROSE))
    world.deps.models = Upstream(httpx.MockTransport(handle), world.clock)
    defaults = {"repetition_penalty": 1.3, "no_repeat_ngram_size": 4, "frequency_penalty": 0.5, "top_k": 20}
    models = world.deps.topology.models
    endpoints = tuple(replace(one, extra_body=defaults) for one in models["a"].endpoints)
    world.deps.topology = replace(
        world.deps.topology, models={**models, "a": replace(models["a"], endpoints=endpoints)}
    )

    response = await world.ask(stream=stream, response_format={"type": "json_object"})
    named = response.headers["x-pointsman-changed"].split(",")
    assert {"repetition_penalty", "no_repeat_ngram_size", "frequency_penalty"} <= set(named)
    sent = asked[0]
    assert (sent["repetition_penalty"], sent["frequency_penalty"], sent["top_k"]) == (1.0, 0, 20)
    assert "no_repeat_ngram_size" not in sent

    await world.ask(stream=stream)
    assert asked[-1]["repetition_penalty"] == 1.3

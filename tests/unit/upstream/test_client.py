"""A conversation without a socket: what is asked, what is handed on, what the attempt says."""

import gc
import json
import warnings
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx
import pytest

from base.faults import Fault
from detector import GateMode, GatePolicy, StreamGate, score
from detector.verdict import Release
from tests.support.clock import ManualClock
from upstream.attempt import Attempt, Piece
from upstream.call import Call, Endpoint, Timeouts
from upstream.client import Upstream

ENDPOINT = Endpoint(base_url="http://model/v1", upstream_model="real", api_key="secret", extra_body={"top_k": 3})


class Parts(httpx.AsyncByteStream):
    def __init__(self, parts: Iterable[bytes]) -> None:
        self.parts = list(parts)
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            yield part

    async def aclose(self) -> None:
        self.closed = True


def event(delta: dict[str, Any], finish: str | None = None, **extra: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **extra}, ensure_ascii=False).encode() + b"\n\n"


STORY = [
    event({"role": "assistant", "content": ""}),
    event({"content": "你好，"}),
    event({"content": "世界。", "vendor_field": [1, 2]}),
    event({}, "stop"),
    b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n',
    b"data: [DONE]\n\n",
]


async def stream(
    parts: Iterable[bytes], gate: GatePolicy | None = None, **call: Any
) -> tuple[Attempt, list[Piece], Parts]:
    body = Parts(parts)
    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=body))
    reply = Upstream(transport, ManualClock(), gate).stream(Call(body={}, stream=True, **call), ENDPOINT, Timeouts())
    pieces = [piece async for piece in reply]
    assert reply.attempt is not None
    return reply.attempt, pieces, body


async def test_the_endpoint_names_the_model_the_key_and_the_extra_fields() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]})

    asked = {"model": "route", "unknown": {"kept": 1}}
    attempt = await Upstream(httpx.MockTransport(answer), ManualClock()).complete(
        Call(body=asked, stream=False), ENDPOINT, Timeouts()
    )
    assert attempt.fault is None and attempt.text == "hi"
    assert str(seen[0].url) == "http://model/v1/chat/completions"
    assert seen[0].headers["authorization"] == "Bearer secret"
    assert json.loads(seen[0].content) == {"model": "real", "top_k": 3, "unknown": {"kept": 1}}
    assert asked == {"model": "route", "unknown": {"kept": 1}}, "the client's body is shared: never changed"


async def test_embeddings_are_carried_and_not_judged() -> None:
    answer = {"data": [{"embedding": [0.1]}], "usage": {"prompt_tokens": 2}}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
    call = Call(body={"input": "x"}, stream=False, path="/embeddings")
    attempt = await Upstream(transport, ManualClock()).complete(call, ENDPOINT, Timeouts())
    assert attempt.fault is None and json.loads(attempt.body) == answer and attempt.usage.prompt_tokens == 2


async def test_events_of_a_healthy_stream_are_handed_on_byte_for_byte() -> None:
    attempt, pieces, body = await stream(STORY)
    assert [b"data: " + p.data + b"\n\n" for p in pieces] == STORY[:-1]
    assert (attempt.fault, attempt.text, attempt.finish_reason) == (None, "你好，世界。", "stop")
    assert (attempt.usage.prompt_tokens, attempt.usage.completion_tokens) == (3, 4)
    assert body.closed


async def test_a_stream_read_byte_by_byte_is_the_same_stream() -> None:
    raw = b"".join(STORY)
    _, whole, _ = await stream([raw])
    _, single, _ = await stream(raw[at : at + 1] for at in range(len(raw)))
    assert whole == single


@pytest.mark.parametrize("cut", range(1, len(STORY) - 2))
async def test_a_stream_without_its_end_is_broken_wherever_it_was_cut(cut: int) -> None:
    attempt, pieces, _ = await stream(STORY[:cut])
    assert attempt.fault is Fault.BROKEN_STREAM
    assert not any(p.finish_reason for p in pieces)


async def test_done_without_a_finish_reason_is_an_end() -> None:
    attempt, pieces, _ = await stream([*STORY[:3], b"data: [DONE]\n\n"])
    assert attempt.fault is None and "".join(p.text for p in pieces) == "你好，世界。"


@pytest.mark.parametrize("size", [1, 3, 7, 500])
async def test_the_same_loop_is_cut_at_the_same_place_however_it_is_cut_into_deltas(size: int) -> None:
    text = "从前有座山，山里有座庙。" + "你！" * 250
    deltas = [event({"content": text[at : at + size]}) for at in range(0, len(text), size)]
    attempt, pieces, body = await stream([*deltas, *STORY[3:]])
    sent = "".join(p.text for p in pieces)
    one, _, _ = await stream([event({"content": text}), *STORY[3:]])
    assert attempt.fault is Fault.REPETITION and body.closed
    assert sent.startswith(attempt.text) and len(sent) < 100
    assert attempt.text == one.text


async def test_an_unguarded_call_is_passed_as_it_comes() -> None:
    text = "你！" * 250
    attempt, pieces, _ = await stream([event({"content": text}), *STORY[3:]], guarded=False)
    assert attempt.fault is None and "".join(p.text for p in pieces) == text


async def test_a_failing_detector_turns_the_stream_into_pass_through_and_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(self: StreamGate, delta: str, now_s: float) -> Release:
        raise RuntimeError("bug")

    monkeypatch.setattr(StreamGate, "feed", fail)
    attempt, pieces, _ = await stream(STORY)
    assert attempt.fault is None and attempt.detector_errors == 1
    assert "".join(p.text for p in pieces) == "你好，世界。" == attempt.text


async def test_tool_deltas_pass_untouched() -> None:
    tools = [
        event({"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "f", "arguments": ""}}]}),
        event({"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]}),
    ]
    attempt, pieces, _ = await stream([STORY[0], *tools, event({}, "tool_calls"), STORY[-1]])
    assert attempt.fault is None
    assert [b"data: " + p.data + b"\n\n" for p in pieces[1:3]] == tools


FRESH = "后来雨停了，老船长收起缆绳，沿着码头慢慢走回家。路灯一盏盏亮起来，照着潮湿的石板。"
FRESH += "孩子们围上来问他远方的事，他想了想，说起北边的冰海、会发光的鱼，还有那年冬天救了全船人的一只旧罗盘。"
FRESH += "夜里他把罗盘放在窗台上，指针轻轻摆动，像是还记得路。第二天清晨，邻居送来刚烤好的面包，"
FRESH += "两个人坐在门口喝茶，谈起今年的收成、修了一半的桥，以及镇上要办的第一所学校。没有人注意到，雪已经开始下了。"


def looping(after: str) -> list[bytes]:
    text = "从前有座山，山里有座庙。" + "你！" * 150 + after
    return [event({"content": text[at : at + 3]}) for at in range(0, len(text), 3)] + STORY[3:]


async def test_a_suppressed_loop_that_recovers_comes_out_clean_and_is_no_fault() -> None:
    attempt, pieces, _ = await stream(looping(FRESH + FRESH[::-1]), GatePolicy(mode=GateMode.SUPPRESS))
    assert attempt.fault is None and attempt.recoveries == 1 and attempt.suppressed_chars > 200
    assert attempt.verdict is not None and attempt.verdict.degenerate
    sent = "".join(p.text for p in pieces)
    assert sent.endswith(FRESH[::-1]) and sent.count("你！") < 25
    assert not score(attempt.text).degenerate
    assert pieces[-2].finish_reason == "stop"


async def test_a_suppressed_loop_that_runs_to_the_end_is_a_fault() -> None:
    attempt, pieces, _ = await stream(looping(""), GatePolicy(mode=GateMode.SUPPRESS))
    assert attempt.fault is Fault.REPETITION
    assert not any(p.finish_reason for p in pieces)


async def test_what_the_caller_asked_wins_over_the_endpoints_defaults() -> None:
    seen: list[dict[str, object]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        return httpx.Response(200, json={"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]})

    upstream = Upstream(httpx.MockTransport(answer), ManualClock())
    call = Call(body={"messages": [], "top_k": 9}, stream=False)
    await upstream.complete(call, ENDPOINT, Timeouts())
    assert seen[0]["top_k"] == 9


async def test_a_limit_that_passed_while_reading_leaves_no_read_unawaited() -> None:
    clock = ManualClock()

    class Pings(httpx.AsyncByteStream):
        """Each read takes longer than the limit and brings no text."""

        def __aiter__(self) -> "Pings":
            return self

        async def __anext__(self) -> bytes:
            clock.tick(1_000)
            return b": ping\n\n"

        async def aclose(self) -> None: ...

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Pings())

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        reply = Upstream(Transport(), clock).stream(Call(body={}, stream=True), ENDPOINT, Timeouts())
        assert [piece async for piece in reply] == []
        gc.collect()
    assert reply.attempt is not None
    assert reply.attempt.fault is not None and "timeout" in reply.attempt.fault.value
    assert not [str(w.message) for w in told if "never awaited" in str(w.message)]


@pytest.mark.parametrize("key", ["k€y", "sk-1\r\nx-evil: 1", "sk-1\n"])
@pytest.mark.parametrize("whole", [True, False])
async def test_a_key_that_no_header_can_carry_is_a_fault_of_that_endpoint_and_no_crash(key: str, whole: bool) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200))
    upstream, endpoint = (
        Upstream(transport, ManualClock()),
        Endpoint(base_url="http://m/v1", upstream_model="m", api_key=key),
    )
    if whole:
        attempt: Attempt | None = await upstream.complete(Call(body={}, stream=False), endpoint, Timeouts())
    else:
        reply = upstream.stream(Call(body={}, stream=True), endpoint, Timeouts())
        assert [piece async for piece in reply] == []
        attempt = reply.attempt
    assert attempt is not None and attempt.fault is Fault.GARBLED_PROTOCOL
    assert key not in attempt.detail


@pytest.mark.parametrize(
    ("policy", "call", "guarded"),
    [
        pytest.param({}, {"model": "a"}, True, id="everybody, by default"),
        pytest.param({"models": ("qwen*",)}, {"model": "qwen-plus"}, True, id="a model that is named"),
        pytest.param({"models": ("qwen*",)}, {"model": "glm"}, False, id="one that is not"),
        pytest.param({"vendors": ("ali",)}, {"model": "a", "vendor": "zhipu"}, False, id="another vendor"),
        pytest.param({}, {"model": "a", "auxiliary": True}, False, id="a title"),
        pytest.param({"guard_auxiliary": True}, {"model": "a", "auxiliary": True}, True, id="titles too"),
        pytest.param({"models": ("qwen*",)}, {}, True, id="a call of no model's, as a probe's"),
    ],
)
async def test_the_gates_policy_says_whom_it_guards(
    policy: dict[str, Any], call: dict[str, Any], guarded: bool
) -> None:
    text = "go round and round again and then " * 40
    attempt, _, _ = await stream([event({"content": text}), *STORY[3:]], GatePolicy(**policy), **call)
    assert (attempt.fault is Fault.REPETITION) == guarded
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    upstream = Upstream(
        httpx.MockTransport(lambda _: httpx.Response(200, json=body)), ManualClock(), GatePolicy(**policy)
    )
    whole = await upstream.complete(Call(body={}, stream=False, **call), ENDPOINT, Timeouts())
    assert (whole.fault is Fault.REPETITION) == guarded

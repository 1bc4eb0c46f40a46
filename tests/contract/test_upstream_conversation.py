"""One conversation with a model, over real sockets: what each illness of an upstream amounts to."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator

import httpx
import pytest

from base.clock import SystemClock
from base.faults import Fault
from detector import score
from tests.support.scripted import ScriptedUpstream
from upstream.attempt import Attempt, Piece
from upstream.call import Call, Endpoint, Timeouts
from upstream.client import Upstream
from upstream.stream import Straight
from upstream.transport import FastTransport

QUICK = Timeouts(connect_s=1, first_text_s=1.5, idle_s=1.2, total_s=8)


@pytest.fixture
async def up() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream() as server:
        yield server


@pytest.fixture(params=[httpx.AsyncHTTPTransport, FastTransport], ids=["stock", "fast"])
async def upstream(request: pytest.FixtureRequest) -> AsyncIterator[Upstream]:
    transport = request.param()
    yield Upstream(transport, SystemClock())
    await transport.aclose()


def call(name: str, *, stream: bool, ask: str = "请讲一个故事") -> Call:
    body = {"model": "m", "messages": [{"role": "user", "content": f"{ask} [[{name}]]"}]}
    return Call(body=body | {"stream_options": {"include_usage": True}}, stream=stream)


async def run(
    upstream: Upstream, up: ScriptedUpstream, name: str, *, stream: bool, timeouts: Timeouts = QUICK, ask: str = "请讲"
) -> tuple[Attempt, list[Piece]]:
    endpoint = Endpoint(base_url=up.base_url, upstream_model="real-name", api_key="k", extra_body={"top_k": 5})
    if not stream:
        return await upstream.complete(call(name, stream=False, ask=ask), endpoint, timeouts), []
    reply = upstream.stream(call(name, stream=True, ask=ask), endpoint, timeouts)
    pieces = [piece async for piece in reply]
    assert reply.attempt is not None
    return reply.attempt, pieces


BOTH = [
    pytest.param("healthy", None, id="healthy"),
    pytest.param("tools", None, id="a tool-only turn is fine"),
    pytest.param("stuck", Fault.REPETITION, id="stuck"),
    pytest.param("phrase_loop", Fault.REPETITION, id="phrase loop"),
    pytest.param("sentence_loop", Fault.REPETITION, id="sentence loop"),
    pytest.param("paragraph_loop", Fault.REPETITION, id="paragraph loop"),
    pytest.param("empty", Fault.EMPTY, id="empty text"),
    pytest.param("choices_empty", Fault.EMPTY, id="choices []"),
    pytest.param("refusal", Fault.REFUSAL, id="content filter"),
    pytest.param("reasoning_length", Fault.LENGTH_IN_REASONING, id="limit went to reasoning"),
    pytest.param("repetition_finish", Fault.REPETITION, id="the upstream itself says it looped"),
    pytest.param("reasoning_loop", None, id="a looped thought does not drop the text after it"),
    pytest.param("500", Fault.SERVER_ERROR, id="500"),
    pytest.param("429", Fault.RATE_LIMITED, id="429"),
    pytest.param("401", Fault.FORBIDDEN, id="401"),
    pytest.param("400", Fault.REJECTED, id="400"),
    pytest.param("context", Fault.CONTEXT_TOO_LONG, id="400 context too long"),
    pytest.param("cut", Fault.BROKEN_STREAM, id="cut"),
    pytest.param("garbage", Fault.GARBLED_PROTOCOL, id="garbage"),
    pytest.param("error_in_stream", Fault.SERVER_ERROR, id="error object under 200"),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("name", "fault"), BOTH)
async def test_the_same_illness_has_the_same_name_whole_and_streamed(
    upstream: Upstream, up: ScriptedUpstream, name: str, fault: Fault | None, stream: bool
) -> None:
    attempt, pieces = await run(upstream, up, name, stream=stream, timeouts=Timeouts())
    assert attempt.fault == fault, attempt.detail
    assert (attempt.retry_after_s == 2.0) == (name == "429")
    if fault is None:
        assert attempt.usage.completion_tokens > 0
        assert "".join(p.text for p in pieces) == (attempt.text if stream else "")
    if fault in (Fault.EMPTY, Fault.REFUSAL, Fault.SERVER_ERROR, Fault.GARBLED_PROTOCOL):
        assert pieces == [], "nothing may be sent of a reply that never began"
    if fault is Fault.REPETITION:
        assert not any(p.finish_reason for p in pieces)


@pytest.mark.parametrize("name", ["stuck", "phrase_loop", "sentence_loop", "paragraph_loop"])
@pytest.mark.parametrize("ask", ["请讲一个故事", "tell a story"])
async def test_a_streamed_loop_is_cut_after_two_copies_and_the_upstream_is_closed(
    upstream: Upstream, up: ScriptedUpstream, name: str, ask: str
) -> None:
    up.delay_s = 0.001
    attempt, pieces = await run(upstream, up, name, stream=True, ask=ask)
    sent = "".join(p.text for p in pieces)
    assert attempt.fault is Fault.REPETITION
    assert attempt.verdict is not None and attempt.verdict.degenerate
    assert sent.startswith(attempt.text)
    assert len(sent) <= len(attempt.raw_text) < 800
    for _ in range(100):
        if not up.open_streams:
            break
        await asyncio.sleep(0.01)
    assert up.open_streams == 0


async def test_a_whole_reply_that_looped_and_recovered_is_cleaned_and_counted(
    upstream: Upstream, up: ScriptedUpstream
) -> None:
    attempt, _ = await run(upstream, up, "recover", stream=False)
    assert attempt.fault is None and attempt.recoveries == 1
    assert attempt.verdict is not None and attempt.verdict.degenerate
    assert json.loads(attempt.body)["choices"][0]["message"]["content"] == attempt.text
    assert 100 < len(attempt.text) < len(attempt.raw_text)
    assert not score(attempt.text).degenerate


async def test_model_key_and_extra_fields_are_the_endpoints(upstream: Upstream, up: ScriptedUpstream) -> None:
    await run(upstream, up, "healthy", stream=False)
    assert up.requests[-1]["model"] == "real-name"
    assert up.requests[-1]["top_k"] == 5


@pytest.mark.parametrize(
    ("name", "fault", "timeouts"),
    [
        pytest.param("hang", Fault.TIMEOUT_FIRST_TEXT, QUICK, id="no answer at all"),
        pytest.param("keepalive_only", Fault.TIMEOUT_FIRST_TEXT, QUICK, id="keep-alives are no text"),
        pytest.param("stall", Fault.TIMEOUT_IDLE, QUICK, id="silence in the middle"),
        pytest.param("slow", Fault.TIMEOUT_TOTAL, Timeouts(total_s=0.8), id="longer than the whole may take"),
    ],
)
async def test_each_limit_of_a_stream_has_its_own_name(
    upstream: Upstream, up: ScriptedUpstream, name: str, fault: Fault, timeouts: Timeouts
) -> None:
    attempt, _ = await run(upstream, up, name, stream=True, timeouts=timeouts)
    assert attempt.fault is fault


class Taking:
    """A reader that takes what comes past the iteration, and past pieces."""

    def take(self, ready: deque[Piece]) -> None:
        while ready and not ready[0].finish_reason:
            ready.popleft()

    def straight(self) -> Straight:
        return Straight(str, bool)


@pytest.mark.parametrize("passing", [False, True], ids=["by iteration", "past the iteration"])
@pytest.mark.parametrize("first_text_s", [2_000.0, 1_000.0], ids=["one of several", "the last candidate"])
async def test_a_stream_that_speaks_and_stalls_is_not_held_until_the_longer_limit_of_its_first_word(
    upstream: Upstream, up: ScriptedUpstream, passing: bool, first_text_s: float
) -> None:
    # The last candidate is given all that is left for its first word: as long as for the whole.
    limits = Timeouts(first_text_s=first_text_s, idle_s=0.3, total_s=1_000)
    endpoint = Endpoint(base_url=up.base_url, upstream_model="m")
    reply = upstream.stream(call("stall", stream=True), endpoint, limits)
    text = ""
    async with asyncio.timeout(60):
        async for piece in reply:
            text += piece.text
            if passing and piece.text:
                reply.pass_to(Taking())
    assert text and reply.attempt is not None
    assert (reply.attempt.fault, reply.attempt.detail) == (Fault.TIMEOUT_IDLE, "gap")


async def test_a_whole_reply_is_bounded_by_its_total(upstream: Upstream, up: ScriptedUpstream) -> None:
    attempt, _ = await run(upstream, up, "hang", stream=False, timeouts=Timeouts(total_s=0.2))
    assert attempt.fault is Fault.TIMEOUT_TOTAL


async def test_a_reader_who_leaves_closes_the_upstream_and_blames_nobody(
    upstream: Upstream, up: ScriptedUpstream
) -> None:
    up.delay_s = 0.005
    endpoint = Endpoint(base_url=up.base_url, upstream_model="m")
    reply = upstream.stream(call("healthy", stream=True), endpoint, QUICK)
    async for _ in reply:
        break
    await reply.aclose()
    assert reply.attempt is not None and reply.attempt.fault is Fault.ABANDONED
    await asyncio.sleep(0.2)
    assert up.open_streams == 0


async def test_nobody_listening_is_connect_failed(upstream: Upstream) -> None:
    async with ScriptedUpstream() as server:
        gone = server.base_url
    endpoint = Endpoint(base_url=gone, upstream_model="m")
    assert (await upstream.complete(call("healthy", stream=False), endpoint, QUICK)).fault is Fault.CONNECT_FAILED
    reply = upstream.stream(call("healthy", stream=True), endpoint, QUICK)
    assert [piece async for piece in reply] == []
    assert reply.attempt is not None and reply.attempt.fault is Fault.CONNECT_FAILED


async def test_text_held_on_suspicion_is_released_when_the_stream_falls_silent() -> None:
    unit = "也是新的开始，愿你我都能在这里找到属于自己的方向与光。"
    said = "故事从这里说起。" + unit * 2 + unit[:12]  # two copies and a half would be a loop at the end of a reply

    class Pausing(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for letter in said:
                choice = {"index": 0, "delta": {"content": letter}}
                yield b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"
            await asyncio.sleep(0.5)
            end = {"index": 0, "delta": {"content": "完。"}, "finish_reason": "stop"}
            yield b"data: " + json.dumps({"choices": [end]}).encode() + b"\n\ndata: [DONE]\n\n"

    clock = SystemClock(scale=20)
    upstream = Upstream(httpx.MockTransport(lambda request: httpx.Response(200, stream=Pausing())), clock)
    endpoint = Endpoint(base_url="http://model/v1", upstream_model="m")
    reply = upstream.stream(Call(body={}, stream=True), endpoint, Timeouts())
    before_the_pause = ""
    async for piece in reply:
        if "完" in piece.text:
            break
        before_the_pause += piece.text
    assert before_the_pause == said
    assert [p.finish_reason async for p in reply] == []
    assert reply.attempt is not None and reply.attempt.fault is None
    assert reply.attempt.held_chars > 0

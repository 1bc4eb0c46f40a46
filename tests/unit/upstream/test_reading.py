"""Whose silence it is: a gap in which nobody read is the client's, and what came meanwhile is read first."""

from collections.abc import AsyncIterator

import httpx
import pytest

from base.faults import Fault
from tests.support.clock import ManualClock
from tests.unit.upstream.test_client import ENDPOINT, Parts, event
from upstream.call import Call, Timeouts
from upstream.client import Upstream

UNIT = "也是新的开始，愿你我都能在这里找到属于自己的方向与光。"
TEXTS = {"cleared": "故事从这里说起。", "held on suspicion": "故事从这里说起。" + UNIT * 2 + UNIT[:10]}


@pytest.mark.parametrize("name", TEXTS)
async def test_a_client_that_reads_seldom_does_not_make_its_model_silent(name: str) -> None:
    head = b"".join(event({"content": letter}) for letter in TEXTS[name])
    body = Parts([head, event({"content": "完。"}), event({}, "stop"), b"data: [DONE]\n\n"])
    clock, limits = ManualClock(), Timeouts()
    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=body))
    reply = Upstream(transport, clock).stream(Call(body={}, stream=True), ENDPOINT, limits)
    text = ""
    async for piece in reply:
        if not text:
            clock.tick(limits.idle_s + 1.0)
        text += piece.text
    assert reply.attempt is not None and reply.attempt.fault is None
    assert text == TEXTS[name] + "完。"
    assert (reply.attempt.held_chars > 0) == (name != "cleared")


@pytest.mark.parametrize("reader_late", [True, False], ids=["its client takes nothing", "its model says nothing"])
async def test_whose_time_it_was_is_known_when_the_whole_of_it_is_up(reader_late: bool) -> None:
    clock, limits = ManualClock(), Timeouts(idle_s=1_000.0)

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield event({"content": "故事"})
            if not reader_late:
                clock.tick(limits.total_s + 1.0)
            yield b": still here\n\n"

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Body()))
    reply = Upstream(transport, clock).stream(Call(body={}, stream=True), ENDPOINT, limits)
    async for _ in reply:
        if reader_late:
            clock.tick(limits.total_s + 1.0)
    assert reply.attempt is not None and reply.attempt.fault is Fault.TIMEOUT_TOTAL
    assert reply.attempt.waited_for_reader is reader_late

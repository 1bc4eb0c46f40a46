"""Whose silence it is: a gap in which nobody read is the client's, and what came meanwhile is read first."""

import httpx
import pytest

from tests.support.clock import ManualClock
from tests.unit.upstream.test_client import ENDPOINT, Parts, event
from upstream.call import Call, Timeouts
from upstream.client import Upstream

UNIT = "也是新的开始，愿你我都能在这里找到属于自己的方向与光。"
TEXTS = {"cleared": "故事从这里说起。", "held on suspicion": "故事从这里说起。" + UNIT * 2 + UNIT[:20]}


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

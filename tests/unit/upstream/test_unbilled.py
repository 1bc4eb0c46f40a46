"""What a stream is taken to have cost whose model did not say."""

import httpx
import pytest

from base.faults import Fault
from tests.support.clock import ManualClock
from tests.unit.upstream.test_client import ENDPOINT, STORY, Parts, event, stream
from upstream.attempt import Usage
from upstream.call import Call, Timeouts
from upstream.client import Upstream
from upstream.unbilled import usage_of

CHAT = {"messages": [{"role": "user", "content": "x" * 40}, {"role": "user", "content": [{"text": "y" * 4}]}]}


@pytest.mark.parametrize(
    ("body", "said", "asked", "answered"),
    [
        pytest.param(CHAT, "z" * 9, 11, 3, id="four bytes of English a token, the last one begun"),
        pytest.param({"prompt": "你好吗？"}, "很好。", 3, 3, id="Chinese by its bytes"),
        pytest.param({"messages": None}, "\ud800", 0, 1, id="nothing asked, half a character said"),
    ],
)
def test_what_nobody_billed_is_estimated_from_what_was_asked_and_said(
    body: dict[str, object], said: str, asked: int, answered: int
) -> None:
    assert usage_of(Usage(), body, said) == Usage(prompt_tokens=asked, completion_tokens=answered, estimated=True)


def test_the_models_own_word_stands_and_silence_costs_nothing() -> None:
    told = Usage(prompt_tokens=3, completion_tokens=4)
    assert usage_of(told, CHAT, "said") is told
    assert usage_of(Usage(), CHAT, "") == Usage()


async def test_a_reader_that_leaves_leaves_a_partial_usage_behind() -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, stream=Parts(STORY)))
    reply = Upstream(transport, ManualClock()).stream(Call(body=CHAT, stream=True), ENDPOINT, Timeouts())
    async for piece in reply:
        if piece.text:
            break
    await reply.aclose()
    assert reply.attempt is not None
    assert reply.attempt.fault is Fault.ABANDONED
    assert reply.attempt.usage.estimated
    assert (reply.attempt.usage.prompt_tokens, reply.attempt.usage.completion_tokens > 0) == (11, True)


async def test_thoughts_are_billed_too() -> None:
    parts = [
        event({"reasoning_content": "t" * 40}),
        event({"content": "s" * 40}),
        event({}, "stop"),
        b"data: [DONE]\n\n",
    ]
    attempt, _, _ = await stream(parts)
    assert (attempt.usage.completion_tokens, attempt.usage.estimated) == (20, True)

"""A long whole reply is judged a little at a time: everybody else on the loop is served meanwhile."""

import asyncio
import json

import pytest

import upstream.client as client
from detector import score
from detector.score import at_once, scoring
from tests.support.clock import ManualClock
from tests.unit.upstream.test_client import ENDPOINT
from tests.unit.upstream.test_tap import Tapped
from upstream.call import Call, Timeouts
from upstream.client import Upstream

LONG = " ".join(f"Train {n} leaves at {n % 24} for town {n * 7919 % 1000}." for n in range(1_500))
LOOP = LONG[:5_000] + "and so it goes on and " * 400


def whole(text: str) -> Tapped:
    body = {"model": "m", "choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]}
    return Tapped([json.dumps(body).encode()])


async def test_others_have_many_turns_while_a_long_reply_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SLICE_S", 0.0)  # a turn after each step, however fast this machine is
    turns, over = 0, False

    async def others() -> None:
        nonlocal turns
        while not over:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    attempt = await Upstream(whole(LONG), ManualClock()).complete(Call(body={}, stream=False), ENDPOINT, Timeouts())
    over = True
    await beside
    assert attempt.fault is None and turns >= 5


async def test_whoever_leaves_in_between_ends_the_judging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SLICE_S", 0.0)
    asked = Upstream(whole(LONG), ManualClock()).complete(Call(body={}, stream=False), ENDPOINT, Timeouts())
    task = asyncio.create_task(asked)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("text", [LONG, LOOP, "short", ""], ids=["healthy", "loops", "short", "empty"])
def test_in_steps_the_verdict_is_the_same(text: str) -> None:
    assert at_once(scoring(text)) == score(text)

"""Probabilities: judged where they are there, taken out again where the client did not ask for them."""

import json
import math
from typing import Any

import httpx
import pytest

from base.faults import Fault
from detector.verdict import LoopClass, Rule
from tests.support.clock import ManualClock
from tests.unit.upstream.test_client import ENDPOINT, event, stream
from upstream.attempt import Attempt
from upstream.call import Call, Timeouts
from upstream.client import Upstream
from upstream.logprobs import without_logprobs

DONE = b"data: [DONE]\n\n"
WIRE = ["alpha ", "βήτα ", "в ", "漢 ", "の ", "한 "]


def odds(token: str, best: float, spread: float) -> dict[str, Any]:
    """One position: the chosen token and five candidates of five scripts."""
    tops = [{"token": t, "logprob": best - spread * at} for at, t in enumerate(WIRE[:5])]
    return {"token": token, "logprob": best, "top_logprobs": tops}


def flat(token: str) -> dict[str, Any]:
    return odds(token, math.log(0.05), 0.01)


def sure(token: str) -> dict[str, Any]:
    return {"token": token, "logprob": -0.01, "top_logprobs": [{"token": token, "logprob": -0.01}] * 5}


def said(token: str, place: dict[str, Any]) -> bytes:
    chunk = json.loads(event({"content": token}).removeprefix(b"data: "))
    chunk["choices"][0]["logprobs"] = {"content": [place]}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def word(at: int) -> str:
    return f"w{at:x}q "


async def test_a_garbled_stream_is_stopped_at_the_window_that_shows_it() -> None:
    events = [said(word(at), flat(word(at))) for at in range(400)]
    attempt, pieces, body = await stream([*events, event({}, "stop"), DONE], watch_logprobs=True)
    assert attempt.fault is Fault.GARBLE and body.closed
    assert attempt.verdict is not None and attempt.verdict.loop_class is LoopClass.GARBLE
    assert Rule.GARBLE in attempt.verdict.rules
    assert len(pieces) < 130, "nothing after the first window is shown"


async def test_a_cycle_of_tokens_is_a_repetition_though_its_text_varies() -> None:
    tokens = [f"t{at % 5}" for at in range(200)]
    events = [said(word(at), sure(token)) for at, token in enumerate(tokens)]
    attempt, pieces, _ = await stream([*events, event({}, "stop"), DONE], watch_logprobs=True)
    assert attempt.fault is Fault.REPETITION and len(pieces) < 200
    assert attempt.verdict is not None and Rule.TOKEN_CYCLE in attempt.verdict.rules


async def test_who_wants_repetition_is_not_told_of_token_cycles() -> None:
    events = [said(word(at), sure(f"t{at % 5}")) for at in range(200)]
    attempt, pieces, _ = await stream([*events, event({}, "stop"), DONE], watch_logprobs=True, repetition_allowed=True)
    assert attempt.fault is None and len(pieces) == 201


async def test_healthy_probabilities_change_nothing() -> None:
    events = [said(word(at), sure(word(at))) for at in range(150)]
    attempt, pieces, _ = await stream([*events, event({}, "stop"), DONE], watch_logprobs=True)
    assert attempt.fault is None
    assert [b"data: " + p.data + b"\n\n" for p in pieces[:-1]] == events, "the client asked for them: byte for byte"


async def test_probabilities_that_only_we_asked_for_do_not_reach_the_client() -> None:
    events = [said(word(at), sure(word(at))) for at in range(10)]
    attempt, pieces, _ = await stream([*events, event({}, "stop"), DONE], watch_logprobs=True, strip_logprobs=True)
    assert attempt.fault is None and len(pieces) == 11
    assert all(json.loads(p.data)["choices"][0].get("logprobs") is None for p in pieces)


async def whole(places: list[dict[str, Any]], **call: Any) -> Attempt:
    text = "".join(word(at) for at in range(len(places)))
    choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": {"content": places}}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"choices": [choice]}))
    return await Upstream(transport, ManualClock()).complete(
        Call(body={}, stream=False, watch_logprobs=True, **call), ENDPOINT, Timeouts()
    )


async def test_a_whole_reply_is_judged_and_stripped_alike() -> None:
    bad = await whole([flat(word(at)) for at in range(200)])
    assert bad.fault is Fault.GARBLE
    good = await whole([sure(word(at)) for at in range(200)], strip_logprobs=True)
    assert good.fault is None and json.loads(good.body)["choices"][0]["logprobs"] is None


@pytest.mark.parametrize(
    "junk", ["x", 5, [], {"content": "no"}, {"content": [None, 3, {}]}, {"tokens": [1], "top_logprobs": 4}]
)
async def test_probabilities_in_no_known_shape_are_no_fault(junk: Any) -> None:
    chunk = json.loads(event({"content": "fine words"}).removeprefix(b"data: "))
    chunk["choices"][0]["logprobs"] = junk
    raw = b"data: " + json.dumps(chunk).encode() + b"\n\n"
    attempt, pieces, _ = await stream([raw, event({}, "stop"), DONE], watch_logprobs=True)
    assert attempt.fault is None and len(pieces) == 2


def test_a_reply_without_probabilities_keeps_its_bytes() -> None:
    data = b'{"choices": [{"logprobs": null}], "n": 1.10}'
    assert without_logprobs(data) == data

"""Arguments of tool calls: passed unchanged, scored apart, read at the end."""

import json
from typing import Any

import httpx
import pytest

from base.faults import Fault
from detector import GateMode, GatePolicy
from detector.verdict import Verdict
from tests.support.clock import ManualClock
from tests.unit.upstream.test_client import ENDPOINT, event, stream
from upstream.attempt import Attempt
from upstream.call import Call, Timeouts
from upstream.client import Upstream
from upstream.tool_arguments import unreadable

GOOD = json.dumps({"path": "notes.md", "text": "A short note on how trains are switched from one track to another."})
LOOP = '{"text": "' + "the train is late and " * 40
DONE = b"data: [DONE]\n\n"


def deltas(said: str, size: int = 12, name: str = "write", at: int = 0) -> list[bytes]:
    head = {"index": at, "id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [said[i : i + size] for i in range(0, len(said), size)]
    return [
        event({"tool_calls": [head]}),
        *(event({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}) for piece in pieces),
    ]


async def whole(said: str, **call: Any) -> Attempt:
    function = {"name": "write", "arguments": said}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=body))
    return await Upstream(transport, ManualClock()).complete(Call(body={}, stream=False, **call), ENDPOINT, Timeouts())


async def test_good_arguments_pass_byte_for_byte_and_are_no_fault() -> None:
    parts = [*deltas(GOOD), event({}, "tool_calls"), DONE]
    attempt, pieces, _ = await stream(parts)
    assert attempt.fault is None
    assert [piece.data for piece in pieces] == [part.removeprefix(b"data: ").strip() for part in parts[:-1]]


async def test_arguments_of_parallel_calls_are_read_each_by_itself() -> None:
    mixed = [part for pair in zip(deltas(GOOD, at=0), deltas(GOOD, at=1), strict=True) for part in pair]
    attempt, _, _ = await stream([*mixed, event({}, "tool_calls"), DONE])
    assert attempt.fault is None
    broken, _, _ = await stream([*deltas(GOOD, at=0), *deltas(GOOD[:-3], at=1, name="second"), event({}, "stop"), DONE])
    assert broken.fault is Fault.INVALID_FORMAT and "'second'" in broken.detail


@pytest.mark.parametrize("said", [GOOD[:-2], "{'a': 1}", '{"a": 1}}', "not json"])
async def test_arguments_that_cannot_be_read_end_the_stream_as_broken(said: str) -> None:
    attempt, pieces, _ = await stream([*deltas(said), event({}, "tool_calls"), DONE])
    assert attempt.fault is Fault.INVALID_FORMAT and "'write'" in attempt.detail
    assert all(piece.finish_reason is None for piece in pieces), "its end is withheld: it must not look whole"


async def test_an_empty_string_and_a_vendors_own_shape_are_no_broken_arguments() -> None:
    odd = [
        event({"tool_calls": [{"index": 0, "function": {"name": "now", "arguments": ""}}]}),
        event({"tool_calls": [{"index": 1, "function": {"name": "at", "arguments": {"hour": 9}}}]}),
        event({"tool_calls": ["x"]}),
        event({"tool_calls": {"not": "a list"}}),
        event({}, "tool_calls"),
        DONE,
    ]
    attempt, pieces, _ = await stream(odd)
    assert attempt.fault is None and len(pieces) == 5


async def test_the_old_function_call_is_read_too() -> None:
    parts = [event({"function_call": {"name": "f"}}), event({"function_call": {"arguments": '{"a": '}})]
    attempt, _, _ = await stream([*parts, event({}, "function_call"), DONE])
    assert attempt.fault is Fault.INVALID_FORMAT


async def test_a_loop_in_arguments_that_were_shown_is_counted_and_not_taken_back() -> None:
    attempt, pieces, _ = await stream([*deltas(LOOP + '"}'), event({}, "tool_calls"), DONE])
    assert attempt.fault is None and attempt.verdict is not None and attempt.verdict.degenerate
    assert pieces[-1].finish_reason == "tool_calls"


async def test_arguments_that_loop_without_end_are_stopped_and_the_upstream_is_closed() -> None:
    endless = [*deltas(LOOP * 12), *deltas(LOOP * 200)]
    attempt, pieces, body = await stream(endless, GatePolicy(hard_stop_chars=1_000))
    assert attempt.fault is Fault.REPETITION and attempt.hard_stop
    assert len(pieces) < len(endless) / 5
    assert body.closed


@pytest.mark.parametrize("mode", [GateMode.SUPPRESS, GateMode.OFF])
async def test_a_mode_that_never_stops_does_not_stop_arguments(mode: GateMode) -> None:
    parts = deltas(LOOP * 12)
    _, pieces, _ = await stream([*parts, event({}, "stop"), DONE], GatePolicy(mode=mode, hard_stop_chars=1_000))
    assert len(pieces) >= len(parts)


async def test_whole_arguments_that_loop_are_a_loop_and_another_rung_may_answer() -> None:
    assert (await whole(LOOP + '"}')).fault is Fault.REPETITION
    assert (await whole(GOOD)).fault is None


async def test_keys_that_repeat_in_an_array_are_no_loop() -> None:
    rows = [{"id": n, "name": f"item {n * 7919 % 997}", "price": n * 31 % 101, "stock": n % 7} for n in range(60)]
    said = json.dumps({"rows": rows})
    assert (await whole(said)).fault is None
    attempt, _, _ = await stream([*deltas(said), event({}, "tool_calls"), DONE])
    assert attempt.fault is None and attempt.verdict == Verdict()


def test_the_reason_names_the_call_and_never_the_arguments() -> None:
    why = unreadable("pay", '{"card": "4111')
    assert why is not None and "'pay'" in why and "4111" not in why
    assert unreadable("pay", " ") is None and unreadable("pay", "{}") is None

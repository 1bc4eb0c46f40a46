"""Events leave in order, with their own bytes wherever their text was cleared whole."""

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from upstream.attempt import Piece
from upstream.held import REASONING, TEXT, Held


def event(text: str = "", *, reasoning: str = "", **extra: object) -> Piece:
    delta = {"content": text} | ({"reasoning_content": reasoning} if reasoning else {})
    data = json.dumps({"id": "c", "choices": [{"index": 0, "delta": delta}], **extra}).encode()
    return Piece(data=data, text=text, reasoning=reasoning)


def content(piece: Piece) -> str:
    return str(json.loads(piece.data)["choices"][0]["delta"].get("content", ""))


def test_text_cleared_whole_keeps_the_events_bytes() -> None:
    held = Held()
    first, second = event("ab"), event("cd", unknown={"kept": True})
    held.add(first)
    held.add(second)
    assert held.take() == []
    held.clear(TEXT, "abcd")
    assert [p.data for p in held.take()] == [first.data, second.data]
    assert not held


def test_text_cleared_in_part_goes_now_and_the_rest_later() -> None:
    held = Held()
    held.add(event("abcd"))
    held.clear(TEXT, "ab")
    (now,) = held.take()
    assert (now.text, content(now)) == ("ab", "ab")
    held.clear(TEXT, "cd")
    (later,) = held.take()
    assert (later.text, content(later)) == ("cd", "cd")


def test_events_without_text_wait_for_what_stands_before_them() -> None:
    held = Held()
    held.add(event("held"))
    tool = Piece(data=b'{"tool":1}', tools=True)
    held.add(tool)
    assert held.take() == []
    held.clear(TEXT, "held")
    assert held.take()[1].data == tool.data


def test_dropped_text_is_never_sent_and_tools_of_its_event_are() -> None:
    held = Held()
    held.add(event("loop"))
    delta = {"content": "loop", "tool_calls": [{"id": "1"}]}
    mixed = json.dumps({"choices": [{"delta": delta, "logprobs": {"content": ["loop"]}}]}).encode()
    held.add(Piece(data=mixed, text="loop", tools=True))
    held.drop(TEXT)
    (piece,) = held.take()
    assert piece.tools and b"loop" not in piece.data


def test_text_after_a_gap_rides_on_the_newest_event() -> None:
    held = Held()
    held.add(event("loop loop"))
    held.add(event(" fresh text"))
    held.clear(TEXT, "fresh text")
    pieces = held.take()
    assert "".join(p.text for p in pieces) == "fresh text"
    assert "".join(content(p) for p in pieces) == "fresh text"


def test_text_released_after_its_events_were_dropped_gets_an_envelope() -> None:
    held = Held()
    held.add(event("loop"))
    held.drop(TEXT)
    assert held.take() == []
    held.clear(TEXT, "fresh")
    (piece,) = held.take()
    assert content(piece) == "fresh" and json.loads(piece.data)["id"] == "c"


def test_channels_are_cleared_apart() -> None:
    held = Held()
    held.add(event(reasoning="think"))
    held.add(event("say"))
    held.clear(TEXT, "say")
    assert held.take() == []
    held.clear(REASONING, "think")
    assert [(p.text, p.reasoning) for p in held.take()] == [("", "think"), ("say", "")]


@given(st.lists(st.text(min_size=1, max_size=5), max_size=8), st.lists(st.integers(0, 40), max_size=8))
def test_whatever_is_cleared_comes_out_once_and_in_order(deltas: list[str], cuts: list[int]) -> None:
    text = "".join(deltas)
    held = Held()
    for delta in deltas:
        held.add(event(delta))
    ends = [0, *sorted(min(c, len(text)) for c in cuts), len(text)]
    out = ""
    for low, high in itertools.pairwise(ends):
        held.clear(TEXT, text[low:high])
        pieces = held.take()
        assert all(content(p) == p.text for p in pieces)
        out += "".join(p.text for p in pieces)
        assert out == text[:high]
    assert not held

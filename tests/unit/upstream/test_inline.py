"""Thoughts inside the text: told apart wherever the events were cut, and passed on byte for byte."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.faults import Fault
from detector.verdict import CLEAN
from tests.unit.upstream.test_client import event, stream
from upstream.inline import InlineParter, Place, split_inline

THOUGHT = "<think>Two and two make four, so the answer is four.</think>\nIt is four."
LOOP = "I should check the wheel again before I go on with it. " * 40
ANSWER = "The wheel was turning the whole time, and nothing has to be done about it."


@given(st.lists(st.integers(0, len(THOUGHT)), max_size=8))
def test_each_character_keeps_its_place_however_the_events_are_cut(cuts: list[int]) -> None:
    parter: InlineParter[int] = InlineParter()
    out = []
    borders = sorted({0, len(THOUGHT), *cuts})
    for at, (low, high) in enumerate(pairwise(borders)):
        out += parter.feed(at, THOUGHT[low:high])
    out += parter.finish()
    assert [parted.event for parted in out] == list(range(len(borders) - 1))
    said = {place: "".join(t for p in out for where, t in p.parts if where is place) for place in Place}
    assert said[Place.TEXT] == "\nIt is four." and said[Place.TAG] == "<think></think>"
    assert said[Place.THOUGHT] == "Two and two make four, so the answer is four."


@pytest.mark.parametrize(
    ("content", "head", "thought", "text"),
    [
        pytest.param("plain", "", "", "plain", id="no thought"),
        pytest.param(" \n<think>x</think>y", " \n<think>x</think>", "x", "y", id="blanks before"),
        pytest.param("<think>never closed", "<think>never closed", "never closed", "", id="cut off in the thought"),
        pytest.param("use <think> here", "", "", "use <think> here", id="talk about the tag"),
        pytest.param("<thinking>a</thinking>b", "<thinking>a</thinking>", "a", "b", id="the other tag"),
    ],
)
def test_a_whole_content_is_parted(content: str, head: str, thought: str, text: str) -> None:
    assert split_inline(content) == (head, thought, text)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
async def test_a_thought_in_the_text_passes_byte_for_byte_and_is_no_text(size: int) -> None:
    deltas = [THOUGHT[at : at + size] for at in range(0, len(THOUGHT), size)]
    events = [event({"content": d}) for d in deltas] + [event({}, "stop"), b"data: [DONE]\n\n"]
    attempt, pieces, _ = await stream(events)
    assert [b"data: " + p.data + b"\n\n" for p in pieces] == events[:-1]
    assert attempt.fault is None and attempt.text == "\nIt is four."
    assert "".join(p.reasoning + p.text for p in pieces) == THOUGHT


@pytest.mark.parametrize("size", [5, 11, 64])
async def test_a_loop_in_a_thought_is_held_back_and_the_tag_and_the_text_still_come(size: int) -> None:
    said = f"<think>{LOOP}</think>{ANSWER}"
    deltas = [said[at : at + size] for at in range(0, len(said), size)]
    attempt, pieces, _ = await stream(
        [*(event({"content": d}) for d in deltas), event({}, "stop"), b"data: [DONE]\n\n"]
    )
    shown = "".join(json.loads(p.data)["choices"][0]["delta"].get("content", "") for p in pieces)
    assert shown.startswith("<think>") and shown.endswith(f"</think>{ANSWER}")
    assert len(shown) < 400, "of the loop a few copies at most"
    assert attempt.fault is None and attempt.text == ANSWER and attempt.suppressed_chars > 1_000


async def test_a_thought_without_an_answer_is_an_empty_reply() -> None:
    events = [event({"content": "<think>hm, let me see"}), event({"content": "</think>"}), event({}, "stop")]
    attempt, _, _ = await stream([*events, b"data: [DONE]\n\n"])
    assert attempt.fault is Fault.EMPTY and attempt.text == ""


async def test_what_begins_like_a_tag_and_is_none_is_text() -> None:
    events = [event({"content": d}) for d in ("<", "thi", "ng>", " is a word in XML.")]
    attempt, pieces, _ = await stream([*events, event({}, "stop"), b"data: [DONE]\n\n"])
    assert attempt.text == "<thing> is a word in XML." and attempt.verdict == CLEAN
    assert "".join(p.text for p in pieces) == attempt.text

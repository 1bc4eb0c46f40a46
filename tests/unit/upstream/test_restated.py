"""A reply that says the previous one again: not shown where its head tells, counted where only its end does."""

from itertools import islice

import pytest

from base.faults import Fault
from detector.verdict import LoopClass
from tests.unit.upstream.test_client import event, stream
from upstream.restated import RestatedHead, restated

BEFORE = (
    "To fit the wheel, loosen the four bolts a quarter turn, lift the axle with the jack beside the rear door, and take "
    "the bolts out in the order one, three, two, four. Keep the washers with their bolts. Put the new wheel on so that "
    "its valve looks outward, and tighten the bolts crosswise with the long key from the tool roll under the seat."
)
OTHER = "Before you begin, park on level ground and pull the brake; " + "the rest depends on the model of your van. "


def deltas(text: str, size: int = 9) -> list[bytes]:
    return [event({"content": text[at : at + size]}) for at in range(0, len(text), size)]


async def test_a_reply_that_begins_as_the_last_one_did_is_never_shown() -> None:
    attempt, pieces, body = await stream([*deltas(BEFORE), event({}, "stop"), b"data: [DONE]\n\n"], previous=BEFORE)
    assert attempt.fault is Fault.REPETITION and pieces == [] and body.closed
    assert attempt.verdict is not None and attempt.verdict.loop_class is LoopClass.RESTATEMENT


async def test_a_reply_that_only_begins_alike_comes_out_whole_and_in_order() -> None:
    said = BEFORE[:60] + OTHER
    attempt, pieces, _ = await stream([*deltas(said), event({}, "stop"), b"data: [DONE]\n\n"], previous=BEFORE)
    assert attempt.fault is None and "".join(p.text for p in pieces) == said


async def test_a_restatement_behind_another_opening_is_shown_and_counted() -> None:
    said = "Sure. " + BEFORE
    attempt, pieces, _ = await stream([*deltas(said), event({}, "stop"), b"data: [DONE]\n\n"], previous=BEFORE)
    assert attempt.fault is None and "".join(p.text for p in pieces) == said
    assert attempt.verdict is not None and attempt.verdict.loop_class is LoopClass.RESTATEMENT


async def test_a_short_answer_may_be_said_again() -> None:
    events = [*deltas("Yes, it does."), event({}, "stop"), b"data: [DONE]\n\n"]
    attempt, pieces, _ = await stream(events, previous="Yes, it does.")
    assert attempt.fault is None and "".join(p.text for p in pieces) == "Yes, it does."


async def test_who_wants_repetition_gets_the_last_reply_again() -> None:
    events = [*deltas(BEFORE), event({}, "stop"), b"data: [DONE]\n\n"]
    attempt, pieces, _ = await stream(events, previous=BEFORE, repetition_allowed=True)
    assert attempt.fault is None and "".join(p.text for p in pieces) == BEFORE


def test_the_head_waits_no_longer_than_it_agrees_or_than_time_allows() -> None:
    head = RestatedHead(BEFORE, 200)
    assert [head.holds(word, at) for at, word in enumerate(islice(BEFORE.split(" "), 1))] == [True]
    assert not head.overdue(1.0, 1.5) and head.overdue(1.5, 1.5)
    assert not head.holds(" fit", 2.0), "time ran out: judged at its end only"
    other = RestatedHead(BEFORE, 200)
    assert not other.holds("Well, ", 0.0) and not other.holds("to fit the wheel", 0.0)
    short = RestatedHead("Yes.", 200)
    assert not short.holds("Yes.", 0.0)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(BEFORE, True, id="the same"),
        pytest.param(OTHER * 4, False, id="another text of the same length"),
        pytest.param(BEFORE * 3, False, id="much longer"),
        pytest.param("", False, id="empty"),
    ],
)
def test_a_whole_text_restates_or_not(text: str, wanted: bool) -> None:
    assert (restated(text, BEFORE) is not None) == wanted

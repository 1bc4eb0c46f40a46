"""The reasoning of a whole reply: cleaned wherever it stands, counted, and never the end of what follows it."""

import json
from typing import Any

import pytest

from base.faults import Fault
from detector import GateMode, GatePolicy
from upstream import whole as module
from upstream.call import Call
from upstream.whole import judging

ASKED = Call(body={"messages": []}, stream=False)
LOOP = "I should check the wheel again before I go on with it. "
THOUGHT = LOOP * 40
ANSWER = "The wheel was turning the whole time, and nothing has to be done about it."


def judged(message: dict[str, Any], policy: GatePolicy | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the attempt, and the message that the client gets."""
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
    steps = judging(ASKED, 200, "", body, policy or GatePolicy())
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, json.loads(end.value["body"])["choices"][0]["message"]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_a_looped_thought_in_a_field_of_its_own_is_cleaned(field: str) -> None:
    found, told = judged({"content": ANSWER, field: THOUGHT, "other": 1})
    assert (found["fault"], found["text"], found["trips"], found["verdict"].degenerate) == (None, ANSWER, 1, False)
    assert told["content"] == ANSWER and told["other"] == 1
    assert told[field].startswith(LOOP) and told[field].count(LOOP) <= 3
    assert found["suppressed_chars"] == len(THOUGHT) - len(told[field])


def test_a_looped_thought_inside_the_text_is_cleaned_between_its_tags() -> None:
    found, told = judged({"content": f"<think>{THOUGHT}</think>{ANSWER}"})
    assert told["content"].startswith(f"<think>{LOOP}") and told["content"].endswith(f"</think>{ANSWER}")
    assert told["content"].count(LOOP) <= 3 and (found["fault"], found["text"]) == (None, ANSWER)


def test_a_looped_text_after_a_looped_thought_is_still_a_fault() -> None:
    found, _ = judged({"content": THOUGHT, "reasoning_content": THOUGHT})
    assert found["fault"] is Fault.REPETITION and found["trips"] == 2


def test_a_looped_thought_with_nothing_after_it_is_the_fault_of_the_reply() -> None:
    found, _ = judged({"content": "", "reasoning_content": THOUGHT})
    assert found["fault"] is Fault.REPETITION


@pytest.mark.parametrize("policy", [GatePolicy(guard_reasoning=False), GatePolicy(mode=GateMode.OFF)])
def test_where_thoughts_are_not_guarded_they_pass_as_they_came(policy: GatePolicy) -> None:
    found, told = judged({"content": ANSWER, "reasoning_content": THOUGHT}, policy)
    assert told["reasoning_content"] == THOUGHT and found["suppressed_chars"] == 0


def test_a_detector_that_fails_at_a_thought_costs_neither_it_nor_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("bug")

    monkeypatch.setattr(module, "cleaned", fails)
    found, told = judged({"content": ANSWER, "reasoning_content": THOUGHT})
    assert (told["reasoning_content"], told["content"]) == (THOUGHT, ANSWER)
    assert (found["detector_errors"], found["fault"]) == (1, None)

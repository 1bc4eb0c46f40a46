"""The same tool call over and over is a loop, whatever its ids; calls that ask for something else are not."""

import pytest

from detector import LoopClass, Rule, score
from detector.calls import Calls

CALL = '{{"id": "call_{0}", "type": "function", "function": {{"name": "get_weather", "arguments": "{1}"}}}}'
CITIES = ["Berlin", "Rome", "Oslo", "Lima", "Quito", "Accra", "Hanoi", "Minsk"]


def rows(count: int, *, same: bool) -> str:
    return "\n".join(CALL.format(f"{at * 7919:x}", "Berlin" if same else CITIES[at % 8]) for at in range(count))


def test_the_fourth_equal_call_is_a_loop_under_any_id() -> None:
    assert not score(rows(3, same=True)).degenerate
    verdict = score(rows(6, same=True))
    assert (verdict.loop_class, verdict.rules) == (LoopClass.FORMAT_RUNAWAY, (Rule.ENUMERATION,))
    assert (verdict.start, verdict.onset) == (0, len(rows(1, same=True)) + 1)


def test_calls_for_different_things_are_none() -> None:
    assert not score(rows(8, same=False)).degenerate


def test_a_profile_that_lets_lists_be_longer_lets_calls_be_more() -> None:
    assert not score(rows(6, same=True), profile="list").degenerate
    assert not score(rows(9, same=True), repetition_allowed=True).degenerate


@pytest.mark.parametrize(
    ("between", "same"), [("```", 2), ("<tool_call>", 2), ("", 2), ("Now let me check again.", 1), ("{}", 2)]
)
def test_only_words_between_two_calls_part_them(between: str, same: int) -> None:
    calls = Calls()
    for line in (CALL.format(1, "Berlin"), between, CALL.format(2, "Berlin")):
        calls.take(line)
    assert calls.same == same

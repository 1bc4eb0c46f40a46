"""Exact runs: what is a loop, what is decoration, and from where a suspicion holds."""

import pytest

from detector import GateState, Rule, StreamGate, score
from detector.runs import HELD, allowance, symbol_limit

PROSE = "The route is closed until noon, so take the coast road and turn left at the old mill. "


@pytest.mark.parametrize(
    ("loop", "rule"),
    [
        pytest.param("court order " * 8, Rule.CYCLE, id="four copies, 96 wide"),
        pytest.param(("-" * 80 + " Weir Mill Bridge Harbour\n") * 3, Rule.BLOCK, id="three copies of a long unit"),
        pytest.param("|---" * 80, Rule.SYMBOL, id="a table's rule without end"),
        pytest.param("😀" * 60, Rule.SYMBOL, id="emoji"),
        pytest.param("court " * 12, Rule.STUCK, id="one word"),
    ],
)
def test_a_loop_breaks_its_rule(loop: str, rule: Rule) -> None:
    verdict = score(PROSE + loop)
    assert verdict.degenerate
    assert verdict.rules == (rule,)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("guide = 'ATCG" + "GC" * 35 + "'", id="genes"),
        pytest.param("```\n" + ("*" + " " * 13 + "*\n") * 20 + "```", id="a picture in a code block"),
        pytest.param("\n".join("⠀⠀⠸⠿⠿⠿⠇⠀⠀⠀" for _ in range(24)), id="a picture of braille dots"),
        pytest.param("\n".join(f"{n}. Answer is: {n}" for n in range(1, 11)) + "\nThat was the output.", id="an output that counts"),
        pytest.param("| " + "-" * 200 + " |\n| a | b |", id="the rule of a wide column"),
    ],
)  # fmt: skip
def test_decoration_and_data_are_no_loop(text: str) -> None:
    assert not score(PROSE + "\n" + text + "\n" + PROSE[::-1]).degenerate


def test_symbols_that_outgrow_a_hold_are_held_late_and_others_at_once() -> None:
    assert allowance(" ", 1, "a") == symbol_limit(" ") - HELD
    assert allowance("|---", 1, "a") == allowance("ab", 1, "") == 32
    assert allowance("-", 1, "|") > allowance("-", 1, "\n")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        pytest.param("| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n", False, id="the rule under a head"),
        pytest.param(f"| Name{' ' * 40}| Role |\n|{'-' * 45}|{'-' * 6}|\n", False, id="the same, drawn to width"),
        pytest.param("| day | a | b | c | d | e | f | g |\n| Mo | yes | yes | yes | yes | yes | yes | yes |\n", False, id="equal cells"),
        pytest.param(f"| a | b | c |\n{'|---' * 14}", True, id="a rule that goes on beyond its head"),
        pytest.param(f"| a | b | c |\n{'| yes ' * 14}", True, id="a row that does"),
    ],
)  # fmt: skip
def test_a_tables_own_rows_and_rules_are_not_held(text: str, held: bool) -> None:
    gate = StreamGate()
    states = [gate.feed(text[at : at + 5], 0.0).state for at in range(0, len(text), 5)]
    assert (GateState.HOLDING in states) is held


def test_three_copies_of_a_long_unit_may_be_shown_and_two_of_a_short_one() -> None:
    assert allowance("w" * 101, 1, "") == 303
    assert allowance("w" * 100, 1, "") == 200

"""What a finished reply amounts to, in the order of checks."""

import pytest

from base.faults import Fault
from detector.verdict import CLEAN, Health, LoopClass, Rule, Verdict
from upstream.judge import fault_of, verdict_with_finish

LOOP = Verdict(health=Health.DEGENERATE, loop_class=LoopClass.STUCK)
RARE = Verdict(health=Health.DEGENERATE, loop_class=LoopClass.GARBLE)


@pytest.mark.parametrize(
    ("text", "reasoning", "tools", "finish", "verdict", "fault"),
    [
        pytest.param("hi", "", False, "stop", CLEAN, None, id="fine"),
        pytest.param("", "", True, "tool_calls", CLEAN, None, id="tools alone are fine"),
        pytest.param(" \n", "", False, "stop", CLEAN, Fault.EMPTY, id="blank is empty"),
        pytest.param("", "why", False, "length", CLEAN, Fault.LENGTH_IN_REASONING, id="limit went to reasoning"),
        pytest.param("", "why", False, "stop", CLEAN, Fault.EMPTY, id="thought and said nothing"),
        pytest.param("", "", False, "length", CLEAN, Fault.EMPTY, id="length with nothing at all"),
        pytest.param("hi", "", False, "content_filter", CLEAN, Fault.REFUSAL, id="filter"),
        pytest.param("hi", "", False, "repetition", CLEAN, Fault.REPETITION, id="the upstream's own word"),
        pytest.param("a" * 99, "", False, "stop", LOOP, Fault.REPETITION, id="loop"),
        pytest.param("x", "", False, "stop", RARE, Fault.GARBLE, id="garble has its own name"),
        pytest.param(
            "", "a a a", False, "length", LOOP, Fault.REPETITION, id="looped reasoning is no matter of the limit"
        ),
    ],
)
def test_the_first_failing_check_names_the_fault(
    text: str, reasoning: str, tools: bool, finish: str, verdict: Verdict, fault: Fault | None
) -> None:
    found = fault_of(text=text, reasoning=reasoning, tools=tools, refusal=False, finish_reason=finish, verdict=verdict)
    assert found is fault


def test_a_loop_that_ended_by_itself_is_no_fault() -> None:
    found = fault_of(
        text="t", reasoning="", tools=False, refusal=False, finish_reason="stop", verdict=LOOP, recovered=True
    )
    assert found is None


def test_an_upstreams_own_word_is_a_hit_of_ours() -> None:
    assert verdict_with_finish(None, "repetition").rules == (Rule.UPSTREAM,)
    assert verdict_with_finish(LOOP, "repetition") is LOOP
    assert verdict_with_finish(None, "stop") is CLEAN

"""The rule set `classic`: the documents' literal rules and their edges."""

import pytest

from detector import GateMode, GatePolicy, GateState, RuleSet, StreamGate
from detector.classic import collapse_share

HEAD = "The route is closed until noon, so take the coast road and turn left at the old mill. "


def gate_after(text: str, **keys: object) -> StreamGate:
    gate = StreamGate(GatePolicy(rules=RuleSet.CLASSIC, mode=GateMode.CUT, **keys))  # type: ignore[arg-type]
    for at in range(0, len(text), 7):
        gate.feed(text[at : at + 7], 0.0)
    gate.finish()
    return gate


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        pytest.param("emphasis, of twenty. " * 5, False, id="five copies are one too few"),
        pytest.param("emphasis of twenty. " * 6, True, id="six copies and 120 characters"),
        pytest.param("court " * 19, False, id="many copies, too short a run"),
        pytest.param("court " * 40, True, id="many copies"),
        pytest.param("-" * 400, False, id="a unit without letter or digit is skipped"),
        pytest.param("I will now update the workflow file so that it runs. " * 8, False, id="a unit over max_period"),
    ],
)
def test_the_period_rule_has_its_literal_edges(text: str, stops: bool) -> None:
    gate = gate_after(HEAD + text, collapse=False, fast_rules=False)
    assert (gate.state is GateState.STOPPED) is stops
    assert gate.counters.errors == 0


def test_the_unit_limit_is_a_key() -> None:
    text = HEAD + "I will now update the workflow file so that it runs. " * 8
    assert gate_after(text, collapse=False, fast_rules=False, max_period=64).state is GateState.STOPPED


def test_a_collapse_keeps_the_healthy_head() -> None:
    text = HEAD + "".join(("go ok go go ", "ok go ok ok ", "go go ok ok ")[n % 7 % 3] for n in range(40))
    gate = gate_after(text, fast_rules=False)
    assert gate.state is GateState.STOPPED
    assert gate.cleaned.startswith(HEAD)


def test_the_collapse_share_is_the_higher_of_grams_and_words() -> None:
    assert collapse_share("ab ab ab ab ab", ["ab"] * 5, 8) == pytest.approx(0.8)
    assert collapse_share("", [], 8) == 0.0

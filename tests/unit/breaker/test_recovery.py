"""Cool-downs and the sequential test of probes."""

import pytest

from breaker.levels import Reason
from breaker.policy import BreakerPolicy
from breaker.recovery import ProbeVerdict, cooldown_s, forgiven, is_hard, judge_probes, passes_after

POLICY = BreakerPolicy()


@pytest.mark.parametrize(
    "bad_first, passes_at",
    [pytest.param(0, 13, id="all clean"), pytest.param(1, 21, id="one bad"), pytest.param(2, 29, id="two bad")],
)
def test_probes_pass_after_exactly_the_promised_number(bad_first: int, passes_at: int) -> None:
    # The bad ones spread out: two at the very start would already have failed.
    results = [index not in {5 * (i + 1) for i in range(bad_first)} for index in range(passes_at)]
    assert judge_probes(results[:-1], hard=False, policy=POLICY) is None
    assert judge_probes(results, hard=False, policy=POLICY) is ProbeVerdict.PASSED
    assert passes_after(bad_first, POLICY) == passes_at


@pytest.mark.parametrize("results", ["bb", "cbccbccb", "bcb"])
def test_bad_probes_fail(results: str) -> None:
    verdict = judge_probes([mark == "c" for mark in results], hard=False, policy=POLICY)
    assert verdict is ProbeVerdict.FAILED


def test_a_spent_budget_without_a_verdict_fails() -> None:
    results = ([True] * 7 + [False]) * 3 + [True] * 5
    assert judge_probes(results, hard=False, policy=POLICY) is None
    assert judge_probes([*results, True], hard=False, policy=POLICY) is ProbeVerdict.FAILED


def test_three_good_probes_in_a_row_end_a_hard_outage() -> None:
    assert judge_probes([True, True], hard=True, policy=POLICY) is None
    assert judge_probes([False, True, True, True], hard=True, policy=POLICY) is ProbeVerdict.PASSED
    assert judge_probes([True, False, False, False], hard=True, policy=POLICY) is ProbeVerdict.FAILED


@pytest.mark.parametrize(
    "opens, hard, jitter, seconds",
    [
        pytest.param(1, False, 0.0, 600, id="first"),
        pytest.param(3, False, 0.0, 1_800, id="grows"),
        pytest.param(9, False, 0.0, 3_600, id="capped"),
        pytest.param(1, False, 1.0, 660, id="jitter up"),
        pytest.param(1, False, -1.0, 540, id="jitter down"),
        pytest.param(2, True, 0.0, 30, id="hard"),
        pytest.param(50, True, 0.0, 300, id="hard, capped"),
    ],
)
def test_the_cool_down(opens: int, hard: bool, jitter: float, seconds: float) -> None:
    assert cooldown_s(opens, hard=hard, jitter=jitter, policy=POLICY) == pytest.approx(seconds)


def test_one_open_is_forgiven_per_healthy_hour() -> None:
    assert [forgiven(3, hours * 3_600.0, POLICY) for hours in (0, 0.9, 1, 2.5, 9)] == [3, 3, 2, 1, 0]


def test_hard_means_hard_failures_alone() -> None:
    assert is_hard((Reason.HARD_FAILURES,))
    assert not is_hard((Reason.HARD_FAILURES, Reason.STUCK_STREAMS))
    assert not is_hard(())

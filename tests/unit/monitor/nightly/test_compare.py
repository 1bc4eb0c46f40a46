"""Worse than the baseline, or chance: the lines of BREAKER.md and what an unchanged model meets."""

from random import Random

import pytest

from breaker.policy import BreakerPolicy
from breaker.seen import Tally
from monitor.nightly.compare import BAD, Comparison, Standing, at_least, baseline_rate, compare, interval

POLICY = BreakerPolicy()


def held(tonight: Tally, pinned: Tally | None) -> Comparison:
    return compare(tonight, pinned, POLICY, min_judged=400)


@pytest.mark.parametrize(
    ("tonight", "pinned", "standing"),
    [
        pytest.param(Tally(500, 10), None, Standing.NO_BASELINE, id="nothing pinned"),
        pytest.param(Tally(399, 90), Tally(500, 10), Standing.TOO_FEW, id="below the minimum sample"),
        pytest.param(Tally(500, 10), Tally(500, 10), Standing.SAME, id="the same"),
        pytest.param(Tally(500, 60), Tally(500, 40), Standing.WORSE, id="+50 %, p = .02"),
        pytest.param(Tally(500, 55), Tally(500, 40), Standing.SAME, id="+37 %, but p = .07"),
        pytest.param(Tally(5_000, 100), Tally(5_000, 60), Standing.SAME, id="+67 %, p < .001, under one point"),
        pytest.param(Tally(500, 120), Tally(500, 100), Standing.SAME, id="+20 % is not +30 %"),
        pytest.param(Tally(500, 40), Tally(500, 20), Standing.DOUBLED, id="twice, +4 points"),
        pytest.param(Tally(500, 22), Tally(500, 10), Standing.WORSE, id="twice, but only +2.4 points"),
        pytest.param(Tally(500, 20), Tally(500, 0), Standing.DOUBLED, id="a baseline of nothing is half a reply"),
        pytest.param(Tally(500, 3), Tally(500, 0), Standing.SAME, id="three where there were none is chance"),
        pytest.param(Tally(500, 10), Tally(500, 40), Standing.BETTER, id="a quarter of it"),
    ],
)
def test_where_a_model_stands(tonight: Tally, pinned: Tally | None, standing: Standing) -> None:
    assert held(tonight, pinned).standing is standing


def test_the_exact_chance_is_that_of_drawing_without_return() -> None:
    # 3 of 4 against 1 of 4 (the lady tasting tea): 17 of 70.
    assert at_least(3, 4, 1, 4) == pytest.approx(17 / 70)
    assert at_least(0, 4, 1, 4) == 1.0


def test_zero_is_read_as_half_a_reply() -> None:
    assert baseline_rate(Tally(499, 0)) == pytest.approx(0.001)
    assert baseline_rate(Tally(500, 10)) == 0.02


def test_an_unchanged_model_is_called_worse_on_few_nights() -> None:
    order = Random(1)

    def night() -> Tally:
        return Tally(500, sum(order.random() < 0.02 for _ in range(500)))

    alarms = [held(night(), night()).standing in BAD for _ in range(400)]
    assert sum(alarms) / len(alarms) <= 0.05


def test_classes_are_told_apart_the_largest_move_first() -> None:
    found = compare(
        Tally(500, 60),
        Tally(500, 20),
        POLICY,
        min_judged=400,
        classes={"stuck": 50, "sentence_loop": 10},
        pinned_classes={"sentence_loop": 15, "restatement": 5},
    )
    assert [shift.loop_class for shift in found.shifts] == ["stuck", "restatement", "sentence_loop"]
    assert found.shifts[0].chance < 0.001 < found.shifts[2].chance


def test_the_interval_holds_the_rate_and_narrows_with_the_sample() -> None:
    wide, narrow = interval(Tally(50, 5)), interval(Tally(5_000, 500))
    assert wide[0] < narrow[0] < 0.1 < narrow[1] < wide[1]
    assert interval(Tally()) == (0.0, 1.0)

"""The gray test, measured: how often a good version is stopped, how soon a bad one, and what no data says."""

import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest

from monitor.gray_stats import LIFTS, START, e_value, good_enough, weighed

STOP = 100.0
SHARE, PER_MINUTE = 0.05, 200  # the first step of a busy model: ten gray requests a minute


def stop_after(
    rng: np.random.Generator, gray_rate: float, stable_rate: float, limit: int, share: float = SHARE
) -> int | None:
    """Gray requests seen when the release was stopped; None: `limit` of them without a stop."""
    minutes = int(limit / (PER_MINUTE * share) * 1.3) + 2
    gray = rng.binomial(PER_MINUTE, share, minutes)
    stable = PER_MINUTE - gray
    gray_bad, stable_bad = rng.binomial(gray, gray_rate), rng.binomial(stable, stable_rate)
    logs: Sequence[float] = START
    seen = 0
    for g, gk, s, sk in zip(gray.tolist(), gray_bad.tolist(), stable.tolist(), stable_bad.tolist(), strict=True):
        seen += g
        if seen > limit:
            return None
        logs = weighed(logs, g, gk, s, sk)
        if e_value(logs) >= STOP:
            return seen
    return None


@pytest.mark.parametrize("share", [0.05, 0.25, 0.5])
def test_a_good_version_is_stopped_at_most_once_in_a_hundred_releases(share: float) -> None:
    rng = np.random.default_rng(11)
    stops = [stop_after(rng, 0.02, 0.02, 1_500, share) for _ in range(800)]
    # The bound is 1 in 100 whatever is counted; BREAKER.md measured 0.6 %.
    assert sum(stop is not None for stop in stops) / len(stops) <= 0.0125


@pytest.mark.parametrize(
    ("rate", "median"),
    [
        pytest.param(0.04, 669, id="twice the rate"),
        pytest.param(0.10, 73, id="five times"),
    ],
)
def test_a_bad_version_is_stopped_about_as_soon_as_the_requirements_say(rate: float, median: int) -> None:
    rng = np.random.default_rng(12)
    stops = [stop_after(rng, rate, 0.02, 20_000) for _ in range(500)]
    assert all(stop is not None for stop in stops)
    # Looked at once a minute, so up to ten requests later than after each one.
    assert statistics.median(stop for stop in stops if stop is not None) == pytest.approx(median, rel=0.15)


def test_a_better_version_is_never_stopped() -> None:
    rng = np.random.default_rng(13)
    assert [stop_after(rng, 0.01, 0.02, 2_000) for _ in range(200)] == [None] * 200


@pytest.mark.parametrize(
    ("gray", "stable"),
    [((0, 0), (100, 5)), ((100, 5), (0, 0)), ((100, 0), (100, 0)), ((0, 0), (0, 0))],
    ids=["no gray", "no stable", "nothing bad", "nothing"],
)
def test_with_one_arm_or_nothing_bad_nothing_is_learned(gray: tuple[int, int], stable: tuple[int, int]) -> None:
    assert weighed(START, *gray, *stable) == START
    assert e_value(START) == 1.0


def test_one_bad_reply_weighs_by_its_arm() -> None:
    ours, theirs = weighed(START, 50, 1, 50, 0), weighed(START, 50, 0, 50, 1)
    assert all(log > 0 for log in ours)
    assert all(log < 0 for log in theirs)
    assert [math.exp(log) for log in ours] == pytest.approx([2 * lift / (1 + lift) for lift in LIFTS])


def test_minutes_add_up_in_any_order() -> None:
    minutes = [(20, 1, 300, 4), (3, 0, 500, 9), (40, 4, 200, 1)]
    forth: tuple[float, ...] = START
    back: tuple[float, ...] = START
    for minute in minutes:
        forth = weighed(forth, *minute)
    for minute in reversed(minutes):
        back = weighed(back, *minute)
    assert forth == pytest.approx(back)


BOUNDS = {"floor": 0.005, "alpha": 0.01, "beta": 0.1}


@pytest.mark.parametrize(
    ("gray", "stable", "good"),
    [
        pytest.param((120, 0), (10_000, 200), True, id="clean for long enough"),
        pytest.param((60, 0), (10_000, 200), False, id="not for long enough"),
        pytest.param((300, 12), (10_000, 200), False, id="twice the rate"),
        pytest.param((400, 0), (10_000, 0), False, id="a stable arm without a fault is taken for 0.5 %"),
        pytest.param((500, 0), (10_000, 0), True, id="and passed in time"),
        pytest.param((5_000, 0), (99, 0), False, id="too little is known of the stable arm"),
        pytest.param((0, 0), (10_000, 200), False, id="no data is not good"),
        pytest.param((500, 500), (10_000, 10_000), False, id="both arms all bad"),
    ],
)
def test_good_enough_is_a_sequential_verdict(gray: tuple[int, int], stable: tuple[int, int], good: bool) -> None:
    assert good_enough(*gray, *stable, **BOUNDS) is good


def test_a_version_of_twice_the_rate_is_seldom_accepted() -> None:
    rng, accepted = np.random.default_rng(14), 0
    for _ in range(500):
        n = k = 0
        logs: Sequence[float] = START
        while n < 900:
            bad, stable_bad = int(rng.binomial(10, 0.04)), int(rng.binomial(190, 0.02))
            n, k = n + 10, k + bad
            logs = weighed(logs, 10, bad, 190, stable_bad)
            if e_value(logs) >= STOP:
                break
            if good_enough(n, k, 10_000, 200, **BOUNDS):
                accepted += 1
                break
    assert accepted / 500 <= 0.13  # beta 0.10, and its statistical error

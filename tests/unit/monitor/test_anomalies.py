"""Who goes on the anomaly list and who leaves it: people and chance, clean days, and what one person can do."""

from dataclasses import replace

import pytest

from breaker.policy import BreakerPolicy
from monitor.anomalies import Anomaly, day_closed, expected_users, left, next_entry, poisson_tail, threshold
from monitor.policy import FeedbackPolicy

BREAKER, POLICY = BreakerPolicy(), FeedbackPolicy()


@pytest.mark.parametrize(
    ("k", "mean", "tail"),
    [
        (0, 3.0, 1.0),
        (1, 0.0, 0.0),
        (1, 1.0, 0.632120558828558),
        (5, 1.0, 0.003659846827),
        (10, 3.0, 0.001102488),
        (3, 10.0, 0.997230604),
        (200, 100.0, 1.3e-18),
    ],
)
def test_the_tail_of_poisson_is_exact_also_far_out(k: int, mean: float, tail: float) -> None:
    assert poisson_tail(k, mean) == pytest.approx(tail, rel=0.02 if tail < 1e-10 else 1e-6)


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        pytest.param(0.0, 5, id="never complained of"),
        pytest.param(0.3, 5, id="hardly ever"),
        pytest.param(1.0, 6, id="one a day"),
        pytest.param(3.0, 11, id="three a day"),
        pytest.param(20.0, 36, id="a busy model"),
    ],
)
def test_the_line_is_at_least_five_people_and_beyond_chance(expected: float, line: int) -> None:
    assert threshold(expected, BREAKER) == line
    assert poisson_tail(line, expected) < BREAKER.complaint_chance


def test_what_is_expected_is_the_larger_of_time_and_traffic() -> None:
    assert expected_users(14, 1 / 7, 7_000, 1_000) == 2.0
    assert expected_users(14, 1 / 7, 7_000, 3_000) == 6.0  # three times the traffic
    assert expected_users(14, 1 / 7, 7_000, 10) == 2.0  # a quiet day still hears of the busy one before
    assert expected_users(14, 1 / 7, 0, 500) == 2.0  # nothing is known of the traffic


def entry(users: int, day: str = "2026-01-31", here: Anomaly | None = None, expected: float = 0.5) -> Anomaly | None:
    return next_entry(
        here, model="a", day=day, users=users, complaints=users + 2, expected=expected, samples=[{"request_id": "r"}],
        breaker=BREAKER, now_s=1_000.0,
    )  # fmt: skip


def test_five_people_list_a_model_and_four_do_not() -> None:
    assert entry(4) is None
    found = entry(5)
    assert found is not None
    assert (found.listed, found.threshold, found.users, found.complaints) == (True, 5, 5, 7)
    assert found.chance < 0.001
    assert found.samples == ({"request_id": "r"},)


def test_one_person_never_lists_a_model_whatever_the_number_of_complaints() -> None:
    one = next_entry(
        None, model="a", day="2026-01-31", users=1, complaints=500, expected=0.0, samples=[], breaker=BREAKER, now_s=1.0
    )
    assert one is None


def test_a_worse_day_is_what_the_entry_shows_and_a_milder_one_only_starts_its_clean_days_over() -> None:
    first = entry(8)
    assert first is not None
    assert entry(7, here=first) is first
    worse = entry(12, here=first)
    assert worse is not None
    assert (worse.users, worse.last_bad_day) == (12, "2026-01-31")
    milder = entry(6, day="2026-02-02", here=replace(worse, clean_days=1))
    assert milder is not None
    assert (milder.users, milder.last_bad_day, milder.clean_days) == (12, "2026-02-02", 0)


def closed(here: Anomaly, *days: str, replies: int = 100) -> Anomaly:
    for day in days:
        here = day_closed(here, day, replies, POLICY, 2_000.0)
    return here


def test_three_clean_days_end_it() -> None:
    here = entry(8)
    assert here is not None
    here = closed(here, "2026-01-31", "2026-02-01", "2026-02-02")
    assert (here.listed, here.clean_days) == (True, 2)
    here = closed(here, "2026-02-03")
    assert (here.listed, here.left_why, here.left_at) == (False, "clean", 2_000.0)


def test_a_day_counts_once_however_often_it_is_closed() -> None:
    here = entry(8)
    assert here is not None
    assert closed(here, "2026-02-01", "2026-02-01", "2026-02-01", "2026-01-30").clean_days == 1


def test_a_day_without_a_reply_is_no_clean_day() -> None:
    here = entry(8)
    assert here is not None
    quiet = closed(here, "2026-02-01", "2026-02-02", "2026-02-03", replies=0)
    assert (quiet.listed, quiet.clean_days) == (True, 0)


def test_a_bad_day_in_between_starts_over() -> None:
    here = entry(8)
    assert here is not None
    here = closed(here, "2026-02-01", "2026-02-02")
    again = entry(9, day="2026-02-03", here=here)
    assert again is not None
    here = closed(again, "2026-02-03", "2026-02-04", "2026-02-05")
    assert (here.listed, here.clean_days) == (True, 2)


def test_taken_off_by_hand_it_says_by_whom_and_why() -> None:
    here = entry(8)
    assert here is not None
    gone = left(here, 9.0, "prompt mended", "ann")
    assert (gone.listed, gone.left_by, gone.left_why) == (False, "ann", "prompt mended")

"""Cron expressions in a named zone: what is refused, summer time, and a calendar that scaled time has left."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from monitor.cron import CYCLE_S, Cron, day_began, day_of

BERLIN = ZoneInfo("Europe/Berlin")


def at(*when: int, zone: ZoneInfo = BERLIN, fold: int = 0) -> float:
    return datetime(*when, tzinfo=zone, fold=fold).timestamp()  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        pytest.param("0 3 * *", "five", id="a field too few"),
        pytest.param("0 3 * * * *", "five", id="a field too many"),
        pytest.param("61 * * * *", "61", id="no such minute"),
        pytest.param("0 3 * * 1", "by name", id="a weekday as a number means another day to others"),
        pytest.param("0 3 30 2 *", "never comes", id="30 February"),
        pytest.param("often", "five", id="no expression at all"),
    ],
)
def test_an_expression_that_is_none_is_refused_with_its_fault(expression: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Cron(expression, "UTC")


def test_a_zone_that_is_none_is_refused() -> None:
    for zone in ("Mars/Base", "", "../etc/passwd"):
        with pytest.raises(ValueError, match="time zone"):
            Cron("0 3 * * *", zone)


def test_the_next_moment_is_strictly_after() -> None:
    cron = Cron("0 3 * * mon-fri", "Europe/Berlin")
    friday = at(2026, 1, 30, 3)
    assert cron.next_after(friday - 0.1) == friday
    assert cron.next_after(friday) == at(2026, 2, 2, 3)
    assert cron.name(friday) == "2026-01-30T03:00+0100"


def test_the_night_that_has_three_oclock_twice_runs_both_hours_under_two_names() -> None:
    cron = Cron("30 * * * *", "Europe/Berlin")
    first = at(2026, 10, 25, 2, 30)
    second = cron.next_after(first)
    assert second - first == 3_600
    assert (cron.name(first), cron.name(second)) == ("2026-10-25T02:30+0200", "2026-10-25T02:30+0100")


def test_the_latest_of_many_is_found_and_the_rest_counted() -> None:
    cron = Cron("0 3 * * *", "Europe/Berlin")
    assert cron.latest(at(2026, 1, 1, 3), at(2026, 1, 5, 2)) == (at(2026, 1, 4, 3), 3)
    assert cron.latest(at(2026, 1, 1, 3), at(2026, 1, 2, 2)) == (None, 0)


def test_scaled_time_beyond_the_calendar_keeps_its_hours() -> None:
    cron = Cron("0 3 * * *", "UTC")
    far = at(2026, 1, 1, 12, zone=ZoneInfo("UTC")) + 100 * CYCLE_S
    assert cron.next_after(far) - far == 15 * 3_600
    assert cron.name(far).endswith("-01-01T12:00+0000")


def test_a_day_begins_at_midnight_of_its_zone() -> None:
    noon = at(2026, 3, 29, 12)  # the day that has 23 hours
    assert day_of(noon, BERLIN) == "2026-03-29"
    assert noon - day_began(noon, BERLIN) == 11 * 3_600

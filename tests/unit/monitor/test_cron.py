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


def due(cron: Cron, since: float, until: float) -> list[str]:
    found, moment = [], cron.next_after(since)
    while moment <= until:
        found.append(cron.name(moment))
        moment = cron.next_after(moment)
    return found


@pytest.mark.parametrize(
    ("expression", "zone", "day", "until", "expected"),
    [
        pytest.param("30 2 * * *", "Europe/Berlin", (2026, 10, 25), (2026, 10, 26), ["2026-10-25T02:30+0200"], id="an hour that comes twice"),
        pytest.param("0,30 2 * * *", "Europe/Berlin", (2026, 10, 25), (2026, 10, 26), ["2026-10-25T02:00+0200", "2026-10-25T02:30+0200"], id="both its halves"),
        pytest.param("0 3 * * *", "Europe/Berlin", (2026, 10, 25), (2026, 10, 26), ["2026-10-25T03:00+0100"], id="the hour after it"),
        pytest.param("30 2 * * *", "Europe/Berlin", (2026, 3, 29), (2026, 3, 30), ["2026-03-29T03:00+0200"], id="an hour that does not exist"),
        pytest.param("0,30 2,3 * * *", "Europe/Berlin", (2026, 3, 29), (2026, 3, 30), ["2026-03-29T03:00+0200", "2026-03-29T03:30+0200"], id="what the gap lays together runs once"),
        pytest.param("0 0 * * *", "America/Asuncion", (2023, 10, 1), (2023, 10, 2), ["2023-10-01T01:00-0300"], id="a midnight that does not exist"),
        pytest.param("15 2 * * *", "Australia/Lord_Howe", (2026, 10, 4), (2026, 10, 5), ["2026-10-04T02:30+1100"], id="a gap of half an hour"),
        pytest.param("30 2 * * sun", "Europe/Berlin", (2026, 3, 29), (2026, 3, 30), ["2026-03-29T03:00+0200"], id="once a week"),
        pytest.param("0 12 * * *", "Pacific/Apia", (2011, 12, 30), (2012, 1, 1), ["2011-12-31T00:00+1400", "2011-12-31T12:00+1400"], id="a day that does not exist"),
        pytest.param("30 * * * *", "Europe/Berlin", (2026, 3, 29), (2026, 3, 30), [f"2026-03-29T{hour:02d}:30+0{1 + (hour > 1)}00" for hour in range(24) if hour != 2], id="every hour there is"),
    ],
)  # fmt: skip
def test_a_daily_job_ran_twice_in_autumn_and_not_at_all_in_spring(
    expression: str, zone: str, day: tuple[int, int, int], until: tuple[int, int, int], expected: list[str]
) -> None:
    here = ZoneInfo(zone)
    began, ended = at(*day, zone=here), at(*until, zone=here)
    assert due(Cron(expression, zone), began - 1, ended - 1) == expected


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"])
def test_a_daily_job_runs_once_on_each_day_of_a_year(zone: str) -> None:
    here = ZoneInfo(zone)
    for hour in (0, 1, 2, 3):
        found = due(Cron(f"30 {hour} * * *", zone), at(2026, 1, 1, zone=here) - 1, at(2027, 1, 1, zone=here) - 1)
        assert len({name[:10] for name in found}) == len(found) == 365


def test_a_look_in_the_second_of_two_hours_finds_nothing_due_again() -> None:
    cron = Cron("30 2 * * *", "Europe/Berlin")
    second = at(2026, 10, 25, 2, 10, fold=1)
    assert cron.latest(at(2026, 10, 25, 2, 30), second) == (None, 0)
    assert cron.name(cron.next_after(second)) == "2026-10-26T02:30+0100"


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

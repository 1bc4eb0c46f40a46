"""The morning's report: told after each night that had a run, and missed by nobody after one that had none."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from monitor.cron import Cron
from monitor.jobs import Run
from pointsman.reporting import owes_report

ZONE = "Asia/Shanghai"
WEEKDAYS = Cron("0 3 * * mon-fri", ZONE)


def morning(day: int, *, by_hand: bool = False) -> Run:
    """Of a day in December 2026, whose 7th is a Monday."""
    due_at = datetime(2026, 12, day, 8, 47, tzinfo=ZoneInfo(ZONE)).timestamp()
    return Run(job="report", slot=f"2026-12-{day:02}", due_at=due_at, by_hand=by_hand)


@pytest.mark.parametrize(("day", "owed"), [(7, True), (11, True), (12, False), (13, False), (14, True)])
def test_a_weekend_without_a_run_is_no_missed_report(day: int, owed: bool) -> None:
    assert owes_report(WEEKDAYS, morning(day)) is owed


def test_a_run_of_the_evening_before_is_told_in_the_morning() -> None:
    assert owes_report(Cron("0 23 * * sun", ZONE), morning(14))


def test_a_report_asked_for_by_hand_is_always_looked_for() -> None:
    assert owes_report(WEEKDAYS, morning(12, by_hand=True))

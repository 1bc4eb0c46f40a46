"""When a job is due: a cron expression in a named time zone, as moments on the fleet's clock.

Pure. In:  five cron fields and a zone name; moments in seconds since the epoch.  Out: moments, and a slot's name.
APScheduler's trigger does the calendar; this module and schedule.py alone know it.

When clocks change, as cron has it since Vixie's: what names its hour is due once, at the first of two such hours, and at the
end of a gap that swallows it. What runs at every hour (`*`) goes by time that passes: twice an hour that comes twice.
"""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

CYCLE_S = 146_097 * 86_400
"""400 years: the calendar repeats then, weekdays included."""
LAST_S = 220_000_000_000
"""About the year 8940. Scaled time runs beyond it, and datetime ends at 9999: such moments are laid back by whole cycles."""
MOST_PASSED = 10_000
"""Slots counted in one look back; a job that was down for longer is told as "at least" so many."""


class Cron:
    """`expression`: minute hour day month weekday, as in crontab(5), weekdays by name (mon … sun).

    Raises ValueError, which says what is wrong, for an expression or a zone that is none.
    """

    def __init__(self, expression: str, zone: str) -> None:
        self.expression, self.zone = expression, zone
        fields = expression.split()
        if len(fields) != 5:
            raise ValueError(f"{expression!r} has {len(fields)} fields; write five: minute hour day month weekday")
        if re.search(r"\d", fields[4]):
            # Crontab counts from Sunday, APScheduler from Monday: a number would mean another day than it says.
            raise ValueError(f"{expression!r}: write weekdays by name, mon to sun")
        self._zone = zone_of(zone)
        from apscheduler.triggers.cron import CronTrigger  # not for who only asks what a zone or a day is

        try:
            # One that names its hour is asked for hours of a day without changes; `_moment` lays them on the zone's days.
            self._fixed = "*" not in fields[1]
            self._trigger = CronTrigger.from_crontab(expression, timezone=UTC if self._fixed else self._zone)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{expression!r}: {error}") from None
        if self._trigger.get_next_fire_time(None, datetime(2000, 1, 1, tzinfo=self._zone)) is None:
            raise ValueError(f"{expression!r}: such a day never comes")

    def next_after(self, at: float) -> float:
        """The first due moment after `at`."""
        laps = _laps(at)
        here = datetime.fromtimestamp(at - laps * CYCLE_S + 0.001, self._zone)
        if not self._fixed:
            return self._fires(here).timestamp() + laps * CYCLE_S
        hour = here.replace(tzinfo=UTC, fold=0)
        while True:
            hour = self._fires(hour)
            moment = _moment(hour.replace(tzinfo=self._zone)) + laps * CYCLE_S
            if moment > at:
                return moment
            hour += timedelta(seconds=1)  # it comes again, and was due the first time

    def _fires(self, here: datetime) -> datetime:
        fires: datetime | None = self._trigger.get_next_fire_time(None, here)
        assert fires is not None  # checked when it was made
        return fires

    def latest(self, after: float, until: float) -> tuple[float | None, int]:
        """The last due moment in (`after`, `until`], and how many there were."""
        last, passed = None, 0
        at = self.next_after(after)
        while at <= until and passed < MOST_PASSED:
            last, passed = at, passed + 1
            at = self.next_after(at)
        return last, passed

    def name(self, at: float) -> str:
        """A slot's name, `2026-01-31T03:00+0800`: the offset parts the two hours of an autumn night."""
        return datetime.fromtimestamp(at - _laps(at) * CYCLE_S, self._zone).strftime("%Y-%m-%dT%H:%M%z")


def zone_of(name: str) -> ZoneInfo:
    """The time zone of that name. Raises ValueError."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{name!r} is no time zone; write one like Asia/Shanghai or UTC") from None


def _moment(hour: datetime) -> float:
    """When clocks first show `hour`; the end of the gap if they never do."""
    late, early = hour.timestamp(), hour.replace(fold=1).timestamp()
    if early >= late:  # an hour that there is; one that comes twice, the first time
        return late
    # In a gap the offset of before it gives a moment behind its end, that of after it one ahead of its end.
    before, behind = int(early), int(late)
    zone = hour.tzinfo
    offset = datetime.fromtimestamp(before, zone).utcoffset()
    while behind - before > 1:
        middle = (before + behind) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == offset:
            before = middle
        else:
            behind = middle
    return float(behind)


def _laps(at: float) -> int:
    return max(0, int((at - LAST_S) // CYCLE_S) + 1) if at > LAST_S else 0


def day_of(at: float, zone: ZoneInfo) -> str:
    """The day that holds `at` in `zone`, `2026-01-31`."""
    return datetime.fromtimestamp(at - _laps(at) * CYCLE_S, zone).strftime("%Y-%m-%d")


def day_began(at: float, zone: ZoneInfo) -> float:
    """Midnight of the day that holds `at` in `zone`."""
    laps = _laps(at)
    here = datetime.fromtimestamp(at - laps * CYCLE_S, zone)
    return here.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() + laps * CYCLE_S

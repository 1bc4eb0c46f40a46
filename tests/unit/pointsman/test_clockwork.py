"""Runs by hand: what the schedule is not even asked for, since there is nothing to do."""

from typing import Any, cast

import pytest

from console.jobs_api import JobRefused
from pointsman.clockwork import ScheduledJobs
from tests.support.clock import ManualClock


class Asked:
    def __init__(self) -> None:
        self.names: list[str] = []

    async def ask(self, name: str, actor: str) -> str:
        self.names.append(name)
        return "hand-1"


async def test_a_report_asked_for_before_the_night_had_ended_was_begun_and_failed() -> None:
    asked, nights = Asked(), [None, {"day": "2026-01-31"}]

    async def told_of(at: float) -> object:
        return nights[0]

    jobs = ScheduledJobs(schedule=cast(Any, asked), slots=cast(Any, None), clock=ManualClock(), told_of=told_of)
    with pytest.raises(JobRefused, match="nothing to tell yet"):
        await jobs.ask("report", "Min")
    assert await jobs.ask("retention", "Min") == "hand-1"
    nights.pop(0)
    assert await jobs.ask("report", "Min") == "hand-1"
    assert asked.names == ["retention", "report"]

"""The clock jobs: each slot once per fleet, through the death of a leader, downtime, failures and a store that is gone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from breaker.ports import StoreUnavailable
from monitor.alerts.decide import Why, decide
from monitor.alerts.policy import AlertPolicy
from monitor.cron import Cron
from monitor.jobs import Job, Run, RunState, Tick
from monitor.schedule import LEASE_S, RENEW_S, Alarm, Schedule
from store.memory import MemoryJobs, MemoryLease
from store.memory_desk import MemoryDesk
from tests.support.clock import ManualClock
from tests.support.desk import Desk

NOON_S = 1_700_020_800.0  # 2023-11-15 12:00 in Shanghai
HOUR_S, DAY_S = 3_600.0, 86_400.0
KEY = "job_missed:nightly:"


class GoneLease(MemoryLease):
    away = False

    async def hold(self, name: str, owner: str, ttl_s: float) -> int | None:
        if self.away:
            raise StoreUnavailable("gone")
        return await super().hold(name, owner, ttl_s)


class GoneSlots(MemoryJobs):
    away = False

    async def finish(self, *args: Any, **more: Any) -> bool:
        if self.away:
            raise StoreUnavailable("gone")
        return await super().finish(*args, **more)

    async def newest(self, *args: Any, **more: Any) -> Any:
        if self.away:
            raise StoreUnavailable("gone")
        return await super().newest(*args, **more)


class Fleet:
    """Schedules of several processes over one lease and one list of slots; `runs` is what the job was told."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOON_S)
        self.lease, self.slots, self.desk = GoneLease(self.clock), GoneSlots(), Desk()
        self.runs: list[Run] = []
        self.work: Callable[[Run], Awaitable[object]] | None = None
        self.ticks: list[Tick] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.options: dict[str, Any] = {}

    async def _run(self, run: Run) -> None:
        self.runs.append(run)
        if self.work is not None:
            await self.work(run)

    def schedule(self, owner: str) -> Schedule:
        cron = Cron("0 3 * * *", "Asia/Shanghai")
        job = Job(name="nightly", cron=cron, work=self._run, **self.options)
        return Schedule([job], self.lease, self.slots, owner, self.clock, self.desk, self.ticks)

    async def start(self, owner: str) -> Schedule:
        schedule = self.schedule(owner)
        self.tasks[owner] = asyncio.create_task(schedule.run())
        await self.clock.advance(1.0)
        return schedule

    async def kill(self, owner: str) -> None:
        """End a process without a word: its lease runs out by itself."""
        task = self.tasks.pop(owner)
        task.cancel()
        real = self.lease.release

        async def nothing(name: str, owner: str) -> None: ...

        self.lease.release = nothing  # type: ignore[method-assign]
        await asyncio.gather(task, return_exceptions=True)
        self.lease.release = real  # type: ignore[method-assign]

    async def until(self, hours: float) -> None:
        await self.clock.advance(hours * HOUR_S, turns=3)

    async def states(self) -> list[tuple[str, RunState, int]]:
        runs = await self.slots.last("nightly")
        return [(run.slot, run.state, run.tries) for run in reversed(runs) if run.state is not RunState.KNOWN]


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    fleet = Fleet()
    yield fleet
    for task in fleet.tasks.values():
        task.cancel()
    await asyncio.gather(*fleet.tasks.values(), return_exceptions=True)


async def _refused(*_args: Any, **_more: Any) -> int | None:
    raise StoreUnavailable("gone")


async def test_three_processes_run_each_slot_once(fleet: Fleet) -> None:
    for owner in "abc":
        await fleet.start(owner)
    await fleet.until(40)
    assert [run.slot for run in fleet.runs] == ["2023-11-16T03:00+0800", "2023-11-17T03:00+0800"]
    assert {state for _, state, _ in await fleet.states()} == {RunState.DONE}
    assert fleet.desk.open == {}


async def test_a_job_first_seen_at_noon_does_not_make_up_for_the_night_before(fleet: Fleet) -> None:
    await fleet.start("a")
    await fleet.until(14)
    assert fleet.runs == []
    await fleet.until(2)
    assert [run.slot for run in fleet.runs] == ["2023-11-16T03:00+0800"]


async def test_after_downtime_the_latest_missed_slot_alone_is_made_up_for_and_the_others_are_told(fleet: Fleet) -> None:
    await fleet.start("a")
    await fleet.kill("a")
    fleet.clock.tick(2 * DAY_S + 20 * HOUR_S)  # 18 November, 08:00: three nights passed
    await fleet.start("b")
    assert [run.slot for run in fleet.runs] == ["2023-11-18T03:00+0800"]
    told = [(what, alert.facts["why"], alert.passes) for what, alert in fleet.desk.told]
    assert told == [
        # A moment: as a condition, the run that follows would end it before anybody heard of it.
        ("fire", "2 earlier runs were missed and are not made up for", True),
        ("resolve", "runs again", False),
    ]
    assert fleet.desk.told[0][1].at == fleet.runs[0].due_at


async def test_missed_runs_are_told_to_people_although_the_next_run_takes_a_second(fleet: Fleet) -> None:
    desk = MemoryDesk()
    fleet.desk.fire, fleet.desk.resolve = desk.fire, desk.resolve  # type: ignore[method-assign]
    await fleet.start("a")
    await fleet.kill("a")
    fleet.clock.tick(2 * DAY_S + 20 * HOUR_S)
    await fleet.start("b")
    assert [run.slot for run in fleet.runs] == ["2023-11-18T03:00+0800"]
    now_s = fleet.clock.now_s()
    decision = decide(desk.incidents, {}, {}, AlertPolicy(), now_s + 60.0)
    assert [(notice.why, notice.lead.facts["passed_over"]) for notice in decision.notices] == [(Why.FIRST, 2)]


async def test_a_second_leader_that_finds_the_same_runs_missed_tells_the_same_moment(fleet: Fleet) -> None:
    fleet.options = {"tries": 9}
    fleet.work = lambda _run: asyncio.Event().wait()
    await fleet.start("a")
    await fleet.kill("a")
    fleet.clock.tick(2 * DAY_S + 20 * HOUR_S)
    real, fleet.slots.claim = fleet.slots.claim, _refused  # type: ignore[method-assign]
    await fleet.start("b")
    await fleet.kill("b")
    fleet.slots.claim = real  # type: ignore[method-assign]
    await fleet.clock.advance(LEASE_S + 2 * RENEW_S)
    await fleet.start("c")
    moments = {(alert.key, alert.at) for what, alert in fleet.desk.told if what == "fire"}
    assert len(fleet.desk.told) >= 2
    assert len(moments) == 1


async def test_a_slot_that_is_too_old_to_be_made_up_for_is_marked_missed_and_told(fleet: Fleet) -> None:
    fleet.options = {"catch_up_s": HOUR_S}
    await fleet.start("a")
    await fleet.kill("a")
    fleet.clock.tick(20 * HOUR_S)
    await fleet.start("b")
    assert fleet.runs == []
    assert await fleet.states() == [("2023-11-16T03:00+0800", RunState.MISSED, 0)]
    assert KEY in fleet.desk.open
    await fleet.until(20)
    assert [run.slot for run in fleet.runs] == ["2023-11-17T03:00+0800"]
    assert fleet.desk.open == {}


async def test_a_leader_killed_in_the_middle_is_followed_and_the_run_ends_once(fleet: Fleet) -> None:
    gate = asyncio.Event()
    ended: list[str] = []

    async def long(run: Run) -> None:
        await gate.wait()
        ended.append(run.slot)

    fleet.work = long
    await fleet.start("a")
    await fleet.start("b")
    await fleet.until(15.1)
    assert [run.attempt for run in fleet.runs] == [1]
    await fleet.kill("a")
    await fleet.clock.advance(LEASE_S + 2 * RENEW_S)
    gate.set()
    await fleet.until(1)
    assert [(run.slot, run.attempt) for run in fleet.runs] == [(fleet.runs[0].slot, 1), (fleet.runs[0].slot, 2)]
    assert ended == [fleet.runs[0].slot]
    assert await fleet.states() == [(ended[0], RunState.DONE, 2)]


async def test_a_slot_that_takes_every_leader_down_ends_as_failed(fleet: Fleet) -> None:
    fleet.work = lambda _run: asyncio.Event().wait()
    for owner in "abcd":
        await fleet.start(owner)
    await fleet.until(15.1)
    for owner in "abc":
        await fleet.kill(owner)
        await fleet.clock.advance(LEASE_S + 2 * RENEW_S)
    assert [run.attempt for run in fleet.runs] == [1, 2, 3]
    assert await fleet.states() == [(fleet.runs[0].slot, RunState.FAILED, 4)]
    assert "went away 3 times" in fleet.desk.open[KEY].facts["why"]


async def test_a_failed_slot_is_tried_again_later_each_time_and_told_only_when_it_is_given_up(fleet: Fleet) -> None:
    began: list[float] = []

    async def fail(run: Run) -> None:
        began.append(fleet.clock.now_s())
        raise ValueError("odd")

    fleet.work = fail
    await fleet.start("a")
    await fleet.until(15)
    assert fleet.desk.told == []
    await fleet.until(1)
    first, second, third = began
    assert 300 <= second - first <= 300 + 2 * RENEW_S
    assert 600 <= third - second <= 600 + 2 * RENEW_S
    assert [run.attempt for run in fleet.runs] == [1, 2, 3]
    facts = fleet.desk.open[KEY].facts
    assert (facts["why"], facts["tries"]) == ("ValueError: odd", 3)
    fleet.work = None
    await fleet.until(24)
    assert fleet.desk.open == {}


async def test_work_over_its_limit_is_cancelled_and_counts_as_failed(fleet: Fleet) -> None:
    fleet.options = {"limit_s": 60.0, "tries": 1}
    fleet.work = lambda _run: asyncio.Event().wait()
    await fleet.start("a")
    await fleet.until(15.1)
    assert fleet.desk.open[KEY].facts["why"] == "not done after 60 s"


async def test_work_stops_before_a_lease_ends_that_cannot_be_renewed(fleet: Fleet) -> None:
    cut: list[float] = []

    async def long(_run: Run) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cut.append(fleet.clock.monotonic_s())

    fleet.work = long
    schedule = await fleet.start("a")
    await fleet.until(15.1)
    fleet.lease.away, away_s = True, fleet.clock.monotonic_s()
    await fleet.clock.advance(LEASE_S)
    assert schedule.leader.fence is None
    assert cut[0] - away_s < LEASE_S
    fleet.lease.away = False
    await fleet.clock.advance(2 * RENEW_S)
    assert [run.attempt for run in fleet.runs] == [1, 2]


async def test_the_end_of_a_run_waits_while_the_slots_store_is_gone_and_is_written_once(fleet: Fleet) -> None:
    async def going(_run: Run) -> None:
        fleet.slots.away = True

    fleet.work = going
    await fleet.start("a")
    await fleet.until(16)
    assert [state for _, state, _ in await fleet.states()] == [RunState.RUNNING]
    fleet.slots.away = False
    await fleet.clock.advance(2 * RENEW_S)
    assert [state for _, state, _ in await fleet.states()] == [RunState.DONE]
    assert len(fleet.runs) == 1


async def test_an_alert_that_the_desk_did_not_take_is_handed_in_again(fleet: Fleet) -> None:
    async def fail(_run: Run) -> None:
        raise ValueError("odd")

    fleet.work, fleet.options, fleet.desk.away = fail, {"tries": 1}, True
    await fleet.start("a")
    await fleet.until(16)
    assert fleet.desk.open == {}
    fleet.desk.away = False
    await fleet.clock.advance(2 * RENEW_S)
    assert KEY in fleet.desk.open


async def test_a_run_asked_for_by_a_process_that_does_not_lead_is_run_by_the_leader_once(fleet: Fleet) -> None:
    await fleet.start("a")
    other = await fleet.start("b")
    slot = await other.ask("nightly", "ann")
    await fleet.clock.advance(2 * RENEW_S)
    assert [(run.slot, run.by_hand) for run in fleet.runs] == [(slot, True)]
    await fleet.until(15.5)
    assert [run.by_hand for run in fleet.runs] == [True, False]
    with pytest.raises(KeyError):
        await other.ask("no such job", "ann")


async def test_what_a_person_started_is_not_tried_again(fleet: Fleet) -> None:
    async def fail(_run: Run) -> None:
        raise ValueError("odd")

    fleet.work = fail
    schedule = await fleet.start("a")
    await schedule.ask("nightly", "ann")
    await fleet.until(2)
    assert len(fleet.runs) == 1


async def test_ticks_run_in_the_leader_alone_and_outlive_their_failures(fleet: Fleet) -> None:
    ticked: list[float] = []
    fences: set[int] = set()

    async def work(fence: int) -> None:
        ticked.append(fleet.clock.now_s())
        fences.add(fence)
        raise ValueError("odd") if len(ticked) % 2 else StoreUnavailable("gone")

    fleet.ticks = [Tick(name="gray", every_s=5.0, work=work)]
    leads = await fleet.start("a")
    await fleet.start("b")
    await fleet.clock.advance(60.0)
    assert 12 <= len(ticked) <= 14
    assert fences == {leads.leader.fence}


async def test_a_row_from_another_clock_does_not_stop_the_job_for_ever(fleet: Fleet) -> None:
    far_s = NOON_S * 32  # a demo's scaled time, in the same database
    await fleet.slots.note("nightly", "2900-01-01T03:00+0800", RunState.KNOWN, far_s, due_at=far_s)
    await fleet.start("a")
    await fleet.until(16)
    assert len(fleet.runs) == 1


async def test_alarms_are_set_in_the_leader_and_gone_when_it_ends(fleet: Fleet) -> None:
    schedule = await fleet.start("a")
    assert schedule._alarms is not None
    assert [alarm.id for alarm in schedule._alarms.get_jobs()] == ["nightly"]
    await schedule.stop()
    await schedule.stop()
    assert schedule._alarms is None


def test_an_alarm_tells_fleet_time_in_the_machines_time() -> None:
    from datetime import UTC, datetime

    class Fast(ManualClock):
        def real_s(self, seconds: float) -> float:
            return seconds / 60

    now = datetime(2026, 1, 1, tzinfo=UTC)
    wait = Alarm(Cron("0 3 * * *", "Asia/Shanghai"), Fast(NOON_S)).get_next_fire_time(None, now) - now
    assert wait.total_seconds() == pytest.approx(15 * 60 + 0.05)

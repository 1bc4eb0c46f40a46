"""The feedback loop over SQLite and PostgreSQL: what people say lists a model, bursts, and is told once."""

from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from base.feedback import FeedbackKind, FeedbackSource
from breaker.evidence import EvidenceKind
from breaker.levels import Level, Reason
from breaker.machine import next_snapshot
from breaker.policy import BreakerPolicy
from breaker.seen import Seen
from breaker.snapshot import Snapshot
from breaker.window import Counts, MinuteRow
from monitor.alerts.alert import AlertKind, Severity
from monitor.cron import day_began, day_of
from monitor.feedback_watch import FeedbackWatch
from monitor.jobs import Run
from monitor.policy import FeedbackPolicy
from monitor.rollup import Rollup
from store.memory import MemoryCounts, MemoryEvidence
from store.memory_desk import MemoryDesk
from store.sql_anomalies import SqlAnomalies
from store.sql_feedback import SqlComplaints
from store.sql_rollups import SqlRollups
from store.tables import feedback
from tests.support.clock import ManualClock

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOON = 1_700_020_800.0  # 2023-11-15, 12:00 in Shanghai
DAY_S, HOUR_S = 86_400.0, 3_600.0


class World:
    def __init__(self, engine: AsyncEngine) -> None:
        self.engine, self.clock, self.filed = engine, ManualClock(NOON), 0
        self.desk, self.evidence, self.counts = MemoryDesk(), MemoryEvidence(self.clock), MemoryCounts(self.clock)
        self.hours, self.list = SqlRollups(engine), SqlAnomalies(engine)
        self.watermark = 0.0
        self.watch = FeedbackWatch(
            ("a", "b"), SqlComplaints(engine), self.list, self.hours, self.counts, lambda model: self.watermark,
            self.evidence, self.desk, BreakerPolicy(), FeedbackPolicy(), self.clock, SHANGHAI,
        )  # fmt: skip

    async def say(
        self, users: int, model: str = "a", *, each: int = 1, at: float | None = None, asked_at: float | None = None,
        kind: FeedbackKind = FeedbackKind.REPETITION,
    ) -> None:  # fmt: skip
        at = self.clock.now_s() if at is None else at
        rows = []
        for user in range(users):
            for _ in range(each):
                self.filed += 1
                rows.append({
                    "id": f"f{self.filed}", "request_id": f"r{self.filed}", "model": model, "app": "app",
                    "user_hash": f"u{user}", "at": at, "asked_at": at - 60.0 if asked_at is None else asked_at,
                    "kind": kind.value, "source": FeedbackSource.USER.value, "route": "chat", "scene": "chat",
                    "note": "it says it again",
                })  # fmt: skip
        async with self.engine.begin() as connection:
            await connection.execute(insert(feedback), rows)

    async def traffic(self, a_day: int, days: int = 8) -> None:
        """`a_day` replies of model a on each of the last days and today, spread over their hours."""
        rows = [
            Rollup(model="a", scope="", starts_at=NOON - hour * HOUR_S, counts=Counts(judged=a_day // 24))
            for hour in range(1, 24 * days)
        ]
        await self.hours.put_hours(rows)

    async def tick(self, after_s: float = 301.0) -> None:
        self.clock.tick(after_s)
        await self.watch.tick()

    async def night(self, replies: int = 2_400) -> str:
        """Twenty past the next midnight: the job of the day that ended; the day's name."""
        began = day_began(self.clock.now_s(), SHANGHAI)
        if replies:
            await self.hours.put_hours(
                [Rollup(model="a", scope="", starts_at=began + 9 * HOUR_S, counts=Counts(judged=replies))]
            )
        due_at = began + DAY_S + 1_200.0
        self.clock.tick(due_at - self.clock.now_s())
        await self.watch.close_day(Run(job="feedback", slot="s", due_at=due_at))
        self.clock.tick(12 * HOUR_S)
        return day_of(began, SHANGHAI)

    @property
    def told(self) -> list[tuple[str, bool]]:
        return [(i.subject, i.firing) for i in self.desk.incidents]


@pytest.fixture
def world(engine: AsyncEngine) -> World:
    return World(engine)


async def test_five_people_list_a_model_within_minutes_with_samples_and_it_is_told_once(world: World) -> None:
    await world.say(5, at=NOON - 7_200)
    for _ in range(3):
        await world.tick()
    (entry,) = await world.list.listed()
    assert (entry.model, entry.day, entry.users, entry.threshold) == ("a", "2023-11-15", 5, 5)
    assert {sample["note"] for sample in entry.samples} == {"it says it again"}
    assert "user_hash" not in entry.samples[0]
    assert world.told == [("a", True)]
    assert (world.desk.incidents[0].kind, world.desk.incidents[0].severity) == (AlertKind.COMPLAINTS, Severity.WARN)
    assert world.desk.incidents[0].facts["sample"] == "it says it again"  # one stands in the message


async def test_one_person_alone_lists_nobody_and_praise_counts_against_nobody(world: World) -> None:
    await world.say(1, each=80, at=NOON - 7_200)
    await world.say(30, at=NOON - 7_200, kind=FeedbackKind.GOOD)
    await world.tick()
    await world.night()
    assert await world.list.listed() == []
    assert world.told == []


async def test_what_a_model_is_used_to_does_not_list_it(world: World) -> None:
    await world.traffic(24_000)
    for day in range(1, 8):
        await world.say(20, at=NOON - day * DAY_S)
    await world.say(30, at=NOON - 7_200)
    await world.tick()
    assert await world.list.listed() == []
    await world.say(40, at=NOON - 3_600)
    await world.tick()
    (entry,) = await world.list.listed()
    assert (entry.users, entry.expected) == (40, pytest.approx(20.0))


async def test_it_leaves_after_three_clean_days_and_that_is_told(world: World) -> None:
    await world.say(9, at=NOON - 7_200)
    await world.tick()
    assert await world.night() == "2023-11-15"
    await world.night()
    await world.night(replies=0)  # a day without traffic proves nothing
    await world.night()
    assert len(await world.list.listed()) == 1
    await world.night()
    assert await world.list.listed() == []
    (entry,) = await world.list.anomalies("a")
    assert (entry.left_why, entry.left_by) == ("clean", "monitor")
    assert world.told == [("a", False)]


async def test_a_day_that_nobody_watched_is_judged_by_the_job_of_the_night_and_only_once(world: World) -> None:
    await world.say(9, at=NOON - 7_200)
    await world.night()
    (entry,) = await world.list.listed()
    assert entry.clean_days == 0
    for _ in range(3):
        await world.watch.close_day(
            Run(job="feedback", slot="s", due_at=day_began(world.clock.now_s(), SHANGHAI) + 1_200)
        )
    assert await world.list.listed() == [entry]


async def test_who_was_taken_off_by_hand_does_not_come_back_for_the_same_day_but_for_the_next(world: World) -> None:
    await world.say(9, at=NOON - 7_200)
    await world.tick()
    gone = await world.watch.dismiss("a", "ann", "prompt mended")
    assert gone is not None
    assert await world.watch.dismiss("a", "ann", "again") is None
    await world.say(12, at=NOON - 3_600)
    await world.tick()
    assert await world.list.listed() == []
    assert world.told == [("a", False)]
    world.clock.tick(DAY_S)
    await world.say(25, at=world.clock.now_s() - 7_200)
    await world.tick()
    assert [entry.day for entry in await world.list.listed()] == ["2023-11-16"]


async def test_a_burst_is_evidence_that_opens_the_model_and_is_told_as_critical(world: World) -> None:
    await world.traffic(24_000)
    await world.say(6)
    for _ in range(3):
        await world.tick(30.0)
    found = await world.evidence.evidence("a")
    assert [(e.kind, e.number("users")) for e in found] == [(EvidenceKind.COMPLAINTS, 6.0)]
    moved = next_snapshot(Snapshot(model="a"), Seen(evidence=found), BreakerPolicy(), world.clock.now_s())
    assert (moved.level, moved.reasons) == (Level.OPEN, (Reason.COMPLAINTS,))
    assert [(i.subject, i.severity) for i in world.desk.open] == [("a", Severity.CRITICAL)]
    assert world.desk.open[0].facts["sample"] == "it says it again"


async def test_a_burst_at_midnight_is_not_taken_for_over_by_the_job_that_closes_the_day(world: World) -> None:
    due_at = day_began(NOON, SHANGHAI) + DAY_S + 1_200.0
    world.clock.tick(due_at - 60.0 - NOON)
    await world.say(6)
    await world.tick(60.0)
    await world.watch.close_day(Run(job="feedback", slot="s", due_at=due_at))
    assert [(i.subject, i.severity) for i in world.desk.open] == [("a", Severity.CRITICAL)]


async def test_after_a_burst_the_list_is_what_remains_of_the_alert(world: World) -> None:
    await world.say(6)
    await world.tick(30.0)
    await world.tick(1_200.0)
    assert len(await world.list.listed()) == 1
    assert world.told == [("a", True)]
    assert world.desk.open[0].facts["level"] == "listed"


@pytest.mark.parametrize("asked_before_s", [10_000.0, 90_000.0])
async def test_a_batch_about_replies_of_long_ago_lists_the_model_and_is_no_burst(
    world: World, asked_before_s: float
) -> None:
    await world.say(20, asked_at=NOON - asked_before_s)
    await world.tick()
    assert await world.evidence.evidence("a") == []
    assert len(await world.list.listed()) == 1


async def test_what_people_say_of_replies_from_before_a_clean_slate_is_no_burst(world: World) -> None:
    world.watermark = NOON
    await world.say(20, asked_at=NOON - 60.0)
    await world.tick(30.0)
    assert await world.evidence.evidence("a") == []
    await world.say(5, asked_at=NOON + 1.0)
    await world.tick(30.0)
    assert len(await world.evidence.evidence("a")) == 1


async def test_a_busy_hour_explains_more_complaints_than_a_quiet_one(world: World) -> None:
    await world.traffic(24_000)
    for day in range(1, 8):
        await world.say(72, at=NOON - day * DAY_S)  # one in two ten minutes
    await world.say(7)
    minute = int(NOON // 60)
    rows = [MinuteRow(model="a", scope="", minute=minute - back, counts=Counts(judged=200)) for back in range(10)]
    await world.counts.flush("b1", rows, [])  # 2,000 in ten minutes: twelve times the mean
    await world.tick(30.0)
    assert await world.evidence.evidence("a") == []


async def test_a_model_that_the_configuration_does_not_know_is_left_alone(world: World) -> None:
    await world.say(50, model="gone")
    await world.tick()
    assert await world.list.listed() == []
    assert world.told == []

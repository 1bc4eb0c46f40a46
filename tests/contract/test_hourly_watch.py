"""Roll-ups and the hourly watch over SQLite and PostgreSQL: nothing doubled, nothing told twice, old findings end."""

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.evidence import EvidenceKind
from breaker.policy import BreakerPolicy
from breaker.window import Counts, MinuteRow
from monitor.alerts.alert import AlertKind
from monitor.hourly import HourlyWatch
from monitor.jobs import Run
from monitor.policy import MonitorPolicy
from monitor.rollup import HOUR_S, RollUp, Rollup
from router.ports import CallRow
from store.memory import MemoryCounts, MemoryEvidence
from store.memory_desk import MemoryDesk
from store.sql_calls import SqlCallLog
from store.sql_findings import SqlFindings, SqlVersions
from store.sql_rollups import SqlRollups
from tests.support.clock import ManualClock

HOUR = 1_700_006_400.0  # on the hour; 08:00 in Shanghai
SHANGHAI = ZoneInfo("Asia/Shanghai")


class World:
    def __init__(self, engine: AsyncEngine) -> None:
        self.clock = ManualClock(HOUR)
        self.counts, self.evidence, self.desk = MemoryCounts(self.clock), MemoryEvidence(self.clock), MemoryDesk()
        self.hours, self.findings, self.versions = SqlRollups(engine), SqlFindings(engine), SqlVersions(engine)
        self.calls = SqlCallLog(engine)
        self.begin()

    def begin(self) -> None:
        """A process of the monitor that knows nothing of the one before."""
        rollup = RollUp(("a",), self.counts, self.hours, SHANGHAI)
        self.watch = HourlyWatch(
            {"a": ["gpt"]}, rollup, self.hours, self.findings, self.versions, self.evidence, self.desk,
            BreakerPolicy(), MonitorPolicy(), self.clock,
        )  # fmt: skip

    async def hour(
        self, n: int, k: int, boot: str = "b1", scene: str = "chat", detectors: tuple[str, ...] = ("2",)
    ) -> None:
        """An hour of traffic, every minute alike; afterwards it is five past the next hour."""
        at = int(self.clock.now_s() // HOUR_S * HOUR_S)
        for minute in range(at // 60, at // 60 + 60):
            self.clock.tick(at + (minute - at // 60) * 60 - self.clock.now_s())
            counts = Counts(judged=n // 60, stuck=k // 60)
            rows = [
                MinuteRow(
                    model="a",
                    scope=scope,
                    minute=minute,
                    counts=counts,
                    fingerprints={"ab": counts.stuck},
                    detectors=detectors,
                )
                for scope in ("", f"scene:{scene}")
            ]
            await self.counts.flush(boot, rows, [])
        self.clock.tick(at + HOUR_S + 300 - self.clock.now_s())

    async def look(self) -> None:
        due_at = self.clock.now_s() // 300 * 300
        await self.watch.work(Run(job="hourly", slot="s", due_at=due_at))

    async def replied(self, served: str, fingerprint: str = "", count: int = 3) -> None:
        for _ in range(count):
            self.clock.tick(1)
            attempts = ({"model": "a", "endpoint": 0, "fault": None, "served": served, "fingerprint": fingerprint},)
            row = CallRow(
                request_id=f"r{self.clock.now_s()}", at=self.clock.now_s(), app="", route="chat", scene="chat", session="",
                served_model="a", fallback="none", status=200, code="", verdict="clean", loop_class="", attempts=attempts,
                metrics={}, stream=False, elapsed_ms=1, first_text_ms=None, tokens_in=1, tokens_out=1,
            )  # fmt: skip
            self.calls.add_call(row)
        await self.calls.flush()


@pytest.fixture
def world(engine: AsyncEngine) -> World:
    return World(engine)


async def test_minutes_become_hours_and_days_and_doing_it_again_changes_nothing(world: World) -> None:
    await world.hour(6_000, 60)
    for _ in range(3):
        await world.look()
    (row,) = await world.hours.hours(HOUR, HOUR + 1, model="a", scope="")
    assert (row.counts.judged, row.counts.stuck, row.fingerprints) == (6_000, 60, {"ab": 60})
    assert row.detectors == ("2",)
    (day,) = await world.hours.days(0, 1e12, model="a", scope="scene:chat")
    assert (day.counts.judged, day.starts_at) == (6_000, HOUR - 8 * HOUR_S)


async def test_what_two_replicas_counted_is_summed_and_a_late_one_is_added(world: World) -> None:
    await world.hour(600, 0)
    await world.look()
    late = MinuteRow(model="a", scope="", minute=int(HOUR // 60) + 7, counts=Counts(judged=11))
    await world.counts.flush("b2", [late], [])
    await world.hour(600, 0)
    await world.look()
    assert [row.counts.judged for row in await world.hours.hours(HOUR, HOUR + 7_200, model="a", scope="")] == [611, 600]


async def test_an_hour_of_which_redis_forgot_a_part_is_not_written_over_the_whole(world: World) -> None:
    await world.hour(6_000, 60)
    await world.look()
    (whole,) = await world.hours.hours(HOUR, HOUR + 1, scope="")
    less = replace(whole, counts=Counts(judged=17, stuck=17), fingerprints={})
    await world.hours.put_hours([less])
    assert await world.hours.hours(HOUR, HOUR + 1, scope="") == [whole]
    more = replace(whole, counts=Counts(judged=6_001, stuck=60))
    await world.hours.put_hours([more])
    assert await world.hours.hours(HOUR, HOUR + 1, scope="") == [more]


async def test_days_end_at_midnight_of_the_zone(world: World) -> None:
    rows = [
        Rollup(model="a", scope="", starts_at=HOUR + hour * HOUR_S, counts=Counts(judged=1)) for hour in (14, 15, 16)
    ]
    await world.hours.put_hours(rows)
    world.clock.tick(17 * HOUR_S)
    await world.look()
    days = await world.hours.days(0, 1e12, model="a")
    assert [(row.starts_at, row.counts.judged) for row in days] == [(HOUR - 8 * HOUR_S, 2), (HOUR + 16 * HOUR_S, 1)]


async def test_a_rise_is_found_told_once_and_marked_and_ends_when_the_mark_does(world: World) -> None:
    await world.hour(6_000, 60)
    await world.look()
    assert world.desk.fired == []
    await world.hour(6_000, 180)
    for _ in range(2):
        await world.look()
    assert {(i.kind, i.scene) for i in world.desk.open} == {(AlertKind.HOURLY, ""), (AlertKind.SCENE, "chat")}
    kinds = [e.kind for e in await world.evidence.evidence("a")]
    assert sorted(kinds) == [EvidenceKind.HOURLY, EvidenceKind.SCENE]
    assert len(await world.findings.findings(model="a")) == 2
    assert [f.scene for f in await world.findings.findings(kind=AlertKind.SCENE)] == ["chat"]
    for _ in range(3):
        await world.hour(6_000, 60)
        await world.look()
    assert world.desk.open == []
    assert len(world.desk.incidents) == 2
    assert await world.evidence.evidence("a") == []


async def test_a_rise_that_was_open_when_the_monitor_went_away_for_days_ends_when_it_is_back(world: World) -> None:
    await world.hour(6_000, 60)
    await world.look()
    await world.hour(6_000, 240)
    await world.look()
    assert {one.kind for one in world.desk.open} == {AlertKind.HOURLY, AlertKind.SCENE}
    world.clock.tick(3 * 24 * HOUR_S)  # a long weekend
    world.begin()
    await world.look()
    assert world.desk.open == []


async def test_a_silent_change_of_the_vendors_model_is_told_once_with_what_was_before(world: World) -> None:
    for served, fingerprint in (("gpt-1", "fp1"), ("gpt-1", "fp1"), ("gpt-1", "fp2"), ("gpt-1", "fp1")):
        world.clock.tick(60)
        await world.replied(served, fingerprint)
        world.clock.tick(HOUR_S - world.clock.now_s() % HOUR_S + 300)
        for _ in range(2):
            await world.look()
    (incident,) = world.desk.incidents
    assert incident.kind is AlertKind.MODEL_CHANGED
    (finding,) = await world.findings.findings(kind=AlertKind.MODEL_CHANGED)
    assert (finding.facts["was"], finding.facts["is"]) == ("gpt-1 (fp1)", "gpt-1 (fp2)")
    # Told at the moment of the first reply that showed it, in the third hour.
    assert finding.at == HOUR + 2 * HOUR_S + 361


async def test_of_many_calls_both_ends_of_the_hour_are_read(world: World) -> None:
    await world.replied("old", count=40)
    await world.replied("new", count=40)
    seen = await world.versions.seen("a", HOUR, HOUR + HOUR_S, 10)
    assert [it.served for it in seen] == ["old", "new"]
    assert await world.versions.seen("b", HOUR, HOUR + HOUR_S, 10) == []


async def test_a_release_of_the_detector_that_finds_more_is_no_rise_of_the_model(world: World) -> None:
    await world.hour(6_000, 60)
    await world.look()
    await world.hour(6_000, 240, detectors=("2", "3"))  # the upgrade rolls
    await world.look()
    await world.hour(6_000, 240, detectors=("3",))
    await world.look()
    assert world.desk.fired == [] and await world.findings.findings(model="a") == []
    await world.hour(6_000, 720, detectors=("3",))
    await world.look()
    assert {(i.kind, i.scene) for i in world.desk.open} == {(AlertKind.HOURLY, ""), (AlertKind.SCENE, "chat")}


async def test_hours_of_a_release_that_did_not_say_are_compared_as_before(world: World) -> None:
    await world.hour(6_000, 60, detectors=())
    await world.look()
    (old,) = await world.hours.hours(HOUR, HOUR + 1, model="a", scope="")
    assert old.detectors == ()
    await world.hour(6_000, 180)
    await world.look()
    assert {i.kind for i in world.desk.open} == {AlertKind.HOURLY, AlertKind.SCENE}

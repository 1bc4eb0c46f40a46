"""Gray releases over real stores: compare-and-set, the leader's tick, what people are told, and a Redis that was emptied."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.gray import GrayReason, GrayRelease, GrayStage
from breaker.gray_board import GrayBoard, GrayStore
from breaker.levels import Level
from breaker.ports import StoreUnavailable
from breaker.snapshot import Snapshot
from breaker.window import Counts, FastRow, MinuteRow
from monitor.alerts.alert import Severity
from monitor.gray import GrayPolicy, RefusedGray
from monitor.gray_keeper import GrayKeeper
from monitor.gray_report import markdown, report
from store.memory import MemoryGray
from store.memory_desk import MemoryDesk
from store.redis_gray import RedisGray
from store.redis_link import RedisLink
from store.redis_windows import RedisCounts
from store.sql_gray import SqlGray
from tests.support.clock import ManualClock

MODELS = {"a": "gpt-1", "a2": "gpt-2", "b": "other"}
LINKS = {"redis": "link", "cluster": "cluster_link"}


@pytest.fixture(params=["memory", "redis", "cluster"])
def store(request: pytest.FixtureRequest) -> GrayStore:
    return MemoryGray() if request.param == "memory" else RedisGray(request.getfixturevalue(LINKS[request.param]))


class FailingCounts(RedisCounts):
    fails = False

    async def minutes(self, model: str, first: int, last: int) -> list[MinuteRow]:
        if self.fails:
            raise StoreUnavailable("the counts do not answer")
        return list(await super().minutes(model, first, last))


class World:
    """A keeper over Redis and SQL, and the traffic of both arms."""

    def __init__(self, link: RedisLink, engine: AsyncEngine, clock: ManualClock) -> None:
        self.clock, self.desk = clock, MemoryDesk()
        self.store, self.archive, self.counts = RedisGray(link), SqlGray(engine), FailingCounts(link, clock)
        self.levels = dict.fromkeys(MODELS, Level.HEALTHY)
        self.ids: Iterator[str] = (f"r{number}" for number in count(1))
        self.keeper = self.another()

    def another(self) -> GrayKeeper:
        return GrayKeeper(
            MODELS, self.store, self.archive, self.counts, self.snapshot, self.desk, GrayPolicy(), self.clock,
            lambda: next(self.ids),
        )  # fmt: skip

    def snapshot(self, model: str) -> Snapshot:
        return Snapshot(model=model, level=self.levels[model])

    async def start(self, **more: str) -> GrayRelease:
        return await self.keeper.start("a", "a2", actor="ann", note="try it", **more)  # type: ignore[arg-type]

    async def kept(self) -> GrayRelease:
        return (await self.store.load(["a"]))["a"]

    async def pass_(
        self, minutes: int, gray: tuple[int, int] | None = (20, 0), stable: tuple[int, int] = (180, 4)
    ) -> None:
        """Traffic of both arms, a minute at a time, and a tick after each."""
        for _ in range(minutes):
            release = await self.kept()
            minute = int(self.clock.now_s() // 60)
            rows = [_row("a", release.stable_arm, minute, stable)]
            if gray is not None:
                rows.append(_row("a2", release.gray_arm, minute, gray))
            await self.counts.flush("b1", rows, [])
            self.clock.tick(60.0)
            await self.keeper.tick()

    @property
    def told(self) -> list[str]:
        return [f"{i.facts['stage']}:{i.facts['reason']}" for i in self.desk.incidents]


def _row(model: str, arm: str, minute: int, counted: tuple[int, int]) -> MinuteRow:
    return MinuteRow(
        model=model, scope=f"arm:{arm}", minute=minute, counts=Counts(judged=counted[0], stuck=counted[1])
    )  # fmt: skip


@pytest.fixture
def world(link: RedisLink, engine: AsyncEngine, clock: ManualClock) -> World:
    clock.tick(6.0)
    return World(link, engine, clock)


async def test_of_many_writers_one_moves_the_document(store: GrayStore) -> None:
    release = GrayRelease(model="a", candidate="a2", version="v2", id="r1", epoch=1, share=0.05)
    assert sorted(await asyncio.gather(*(store.compare_and_set(release, 0) for _ in range(5)))) == [False] * 4 + [True]
    moved = release.changed(share=0.25, stage=GrayStage.WAITING, reason=GrayReason.STEP_PASSED, repeat_logs=(0.1, -2.0))
    assert await store.compare_and_set(moved, 1)
    assert not await store.compare_and_set(release.changed(), 1)
    assert await store.load(["a", "b"]) == {"a": moved}


async def test_a_good_version_is_promoted_by_itself_told_once_and_reported(world: World) -> None:
    await world.start()
    await world.pass_(130)
    release = await world.kept()
    assert (release.stage, release.split) == (GrayStage.PROMOTED, 1.0)
    for _ in range(3):
        world.clock.tick(60.0)
        await world.keeper.tick()
        await world.another().tick()
    assert world.told == ["promoted:all_passed"]
    assert [i.severity for i in world.desk.incidents] == [Severity.INFO]
    (kept,) = await world.archive.releases("a")
    assert kept == release
    shares = [event["share"] for event in report(kept)["events"]]
    assert shares == [0.05, 0.25, 0.5, 1.0, 1.0]
    text = markdown(kept, "zh", lambda at: "12:00")
    assert "已全量" in text
    assert "try it" in text
    assert text.count("|") > 20


async def test_a_bad_version_is_rolled_back_told_once_and_the_routers_hear_of_it(world: World) -> None:
    await world.start()
    board = GrayBoard(tuple(MODELS), world.store, world.clock, lambda: world.levels)
    await board.poll()
    gray = next(s for s in map(str, range(500)) if (d := board.drawn("a", s)) is not None and d.model == "a2")
    await world.pass_(60, gray=(20, 4))
    release = await world.kept()
    assert (release.stage, release.reason) == (GrayStage.ROLLED_BACK, GrayReason.WORSE_REPEATS)
    assert release.gray.judged < 20 * 60
    await board.poll()
    assert board.drawn("a", gray) is None
    assert world.told == ["rolled_back:worse_repeats"]
    with pytest.raises(RefusedGray, match="waits"):
        await world.start()
    assert (await world.start(version="gpt-2b")).stage is GrayStage.RUNNING
    assert [it.stage for it in await world.archive.releases("a")] == [GrayStage.RUNNING, GrayStage.ROLLED_BACK]


async def test_five_stuck_streams_from_three_sessions_end_it_within_one_tick(world: World) -> None:
    await world.start()
    world.clock.tick(20.0)
    bucket = int(world.clock.now_s() // 5)
    row = FastRow(model="a2", bucket=bucket, streams=9, attempts=9, stuck=5, stuck_sessions=("x", "y", "z"))
    await world.counts.flush("b1", [], [row])
    await world.keeper.tick()
    assert (await world.kept()).reason is GrayReason.STUCK_STREAMS


async def test_streams_that_were_stuck_before_it_began_are_not_its_doing(world: World) -> None:
    bucket = int(world.clock.now_s() // 5)
    row = FastRow(model="a2", bucket=bucket, streams=9, attempts=9, stuck=5, stuck_sessions=("x", "y", "z"))
    await world.counts.flush("b1", [], [row])
    await world.start()
    await world.keeper.tick()
    assert (await world.kept()).stage is GrayStage.RUNNING


async def test_row_48_no_data_pauses_is_told_after_two_hours_and_resolved_when_data_comes(world: World) -> None:
    await world.start()
    await world.pass_(30, gray=None)
    assert (await world.kept()).reason is GrayReason.NO_DATA
    assert world.told == []
    await world.pass_(100, gray=None)
    assert world.told == ["paused:no_data"]
    assert len(world.desk.open) == 1
    await world.pass_(2)
    assert (await world.kept()).stage is GrayStage.RUNNING
    assert world.desk.open == []


async def test_row_48_counts_that_fail_four_times_change_nothing_the_fifth_pauses_and_is_told(world: World) -> None:
    await world.start()
    await world.pass_(5)
    world.counts.fails = True
    await world.pass_(4)
    assert (await world.kept()).stage is GrayStage.RUNNING
    await world.pass_(1)
    assert (await world.kept()).reason is GrayReason.SOURCE_FAILS
    assert world.told == ["paused:source_fails"]
    world.counts.fails = False
    await world.pass_(2)
    assert (await world.kept()).stage is GrayStage.RUNNING
    assert world.desk.open == []


async def test_a_sick_stable_arm_pauses_and_a_sick_model_is_no_start(world: World) -> None:
    await world.start()
    world.levels["a"] = Level.REDUCED
    await world.pass_(2)
    assert (await world.kept()).reason is GrayReason.STABLE_SICK
    await world.keeper.stop("a", "ann", "not now")
    with pytest.raises(RefusedGray, match="nothing sound"):
        await world.start()
    world.levels |= {"a": Level.HEALTHY, "a2": Level.OPEN}
    with pytest.raises(RefusedGray, match="may take traffic"):
        await world.start()


async def test_row_50_stopped_by_hand_with_no_samples_is_stopped_in_every_record(world: World) -> None:
    await world.start()
    await world.keeper.stop("a", "ann", "wrong day")
    for _ in range(2):
        await world.keeper.tick()
    assert world.told == ["stopped:operator"]
    found = await world.archive.release("r1")
    assert found is not None
    assert (found.stage, found.gray.judged) == (GrayStage.STOPPED, 0)
    assert "passed" not in {event.reason for event in found.events}


async def test_two_leaders_and_a_person_at_once_move_it_once(world: World) -> None:
    await world.start()
    await world.pass_(30)
    others = [world.another() for _ in range(3)]
    await asyncio.gather(*(keeper.tick() for keeper in others), world.keeper.pause("a", "ann", "look"))
    release = await world.kept()
    assert release.stage is GrayStage.PAUSED
    assert [event.reason for event in release.events].count(GrayReason.OPERATOR) == 1


async def test_a_leader_of_a_lower_fence_moves_nothing_that_a_later_one_has_written(world: World) -> None:
    await world.start()
    late = world.another()
    await world.pass_(5)
    world.clock.tick(60.0)
    await world.keeper.tick(fence=7)
    assert (await world.kept()).fence == 7
    before = await world.kept()
    world.counts.fails = True
    for _ in range(6):
        world.clock.tick(60.0)
        await late.tick(fence=6)
    # It would have paused the release: its source failed a fifth time.
    assert await world.kept() == before
    assert world.told == []
    world.counts.fails = False
    # A person leads nothing and is let through, whatever leader wrote last; the fence stays.
    assert (await late.pause("a", "ann", "look")).fence == 7
    await late.version_changed("a2", "gpt-2-0131", fence=8)
    assert ((await world.kept()).fence, (await world.kept()).version) == (8, "gpt-2-0131")


async def test_the_store_itself_refuses_a_lower_fence(store: GrayStore) -> None:
    release = GrayRelease(model="a", candidate="a2", version="v2", id="r1", epoch=1, fence=7)
    assert await store.compare_and_set(release, 0)
    assert not await store.compare_and_set(release.changed(fence=6), 1)
    assert await store.compare_and_set(release.changed(fence=7), 1)


async def test_a_release_survives_a_redis_that_was_emptied(world: World, link: RedisLink) -> None:
    await world.start()
    await world.pass_(20)
    before = await world.kept()
    await link.ask(lambda client: client.flushall())
    world.clock.tick(60.0)
    await world.keeper.tick(fence=3)
    assert ((await world.kept()).id, (await world.kept()).fence) == (before.id, 3)
    assert (await world.kept()).gray == before.gray
    await world.keeper.stop("a", "ann", "enough")
    await link.ask(lambda client: client.flushall())
    world.clock.tick(60.0)
    await world.keeper.tick(fence=3)
    assert await world.store.load(["a"]) == {}


async def test_a_changed_version_behind_the_candidate_starts_the_counters_anew(world: World) -> None:
    await world.start()
    await world.pass_(40)
    assert (await world.kept()).share == 0.25
    await world.keeper.version_changed("a2", "gpt-2-0131 (fp9)")
    release = await world.kept()
    assert (release.version, release.share, release.gray.judged) == ("gpt-2-0131 (fp9)", 0.05, 0)
    assert release.reason is GrayReason.NEW_VERSION
    await world.keeper.version_changed("a2", "gpt-2-0131 (fp9)")
    await world.keeper.version_changed("b", "x")
    assert (await world.kept()).id == release.id
    ended = await world.archive.release("r1")
    assert ended is not None
    assert ended.ended_at > 0


async def test_models_of_one_release_take_part_in_no_other(world: World) -> None:
    await world.start()
    for model, candidate in (("b", "a2"), ("a2", "b"), ("b", "a")):
        with pytest.raises(RefusedGray, match="takes part"):
            await world.keeper.start(model, candidate, actor="x", note="")
    with pytest.raises(KeyError):
        await world.keeper.start("a", "unknown", actor="x", note="")
    with pytest.raises(RefusedGray, match="no release"):
        await world.keeper.stop("b", "x", "")


async def test_an_older_document_is_not_kept_over_a_newer_one(world: World) -> None:
    release = await world.start()
    newer = release.changed(share=0.25)
    await world.archive.keep(newer)
    await world.archive.keep(replace(release, share=0.9))
    assert await world.archive.release(release.id) == newer


async def test_a_second_start_replaced_the_release_under_way_without_asking(world: World) -> None:
    begun = await world.start()
    for more in ({}, {"version": "gpt-2b"}):
        with pytest.raises(RefusedGray, match=r"'a' has a release under way already, 'a2' .*: stop it first"):
            await world.start(**more)
    assert (await world.kept()).id == begun.id
    await world.keeper.stop("a", "ann", "wrong version")
    assert (await world.start(version="gpt-2b")).version == "gpt-2b"

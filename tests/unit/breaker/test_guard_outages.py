"""The guard while the store is gone, while a leader dies, and for whoever starts in the middle of it."""

from typing import Any

import pytest

from breaker.levels import Level, Mode
from tests.support.memory_fleet import T0, Fleet, fail, talk


async def test_without_the_store_the_last_level_stays_and_nothing_counted_is_lost() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        await guard.force("m", Mode.FORCED_OPEN, "op", "drill", T0 + 3_600)
        fleet.down = True
        talk(guard, 7, 0)
        await fleet.clock.advance(120)
        assert guard.store_down
        assert guard.levels() == {"m": Level.OPEN}
        fleet.down = False
        await fleet.clock.advance(5)
        assert not guard.store_down
    minute = int(T0 // 60)
    rows = await fleet.counts.minutes("m", minute, minute + 5)
    assert sum(row.counts.judged for row in rows if row.scope == "") == 7


async def test_without_the_store_a_replica_raises_levels_on_its_own_for_a_while() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        fleet.down = True
        fail(guard, 10)
        await fleet.clock.advance(3)
        assert guard.levels() == {"m": Level.OPEN}
        assert guard.snapshot("m").level is Level.HEALTHY
        await fleet.clock.advance(16 * 60)
        assert guard.levels() == {"m": Level.HEALTHY}
    assert fleet.moves() == []


async def test_a_level_raised_alone_ends_when_the_store_is_back_and_the_fleet_sees_no_reason_for_it() -> None:
    fleet = Fleet()
    a, b = fleet.replica("a"), fleet.replica("b")
    async with fleet.running(a, b):
        fleet.down = True
        fail(b, 10)
        await fleet.clock.advance(3)
        assert b.levels() == {"m": Level.OPEN}
        await fleet.clock.advance(60)
        fleet.down = False
        talk(a, 100, 0)
        await fleet.clock.advance(30)
        assert b.levels() == {"m": Level.OPEN}, "the fleet has not looked at every minute yet"
        await fleet.clock.advance(50)
        assert b.levels() == {"m": Level.HEALTHY}
    assert fleet.moves() == []


async def test_a_level_raised_alone_becomes_the_fleets_when_the_store_is_back_and_others_agree() -> None:
    fleet = Fleet()
    a, b = fleet.replica("a"), fleet.replica("b")
    async with fleet.running(a, b):
        fleet.down = True
        fail(b, 10)
        await fleet.clock.advance(3)
        fleet.down = False
        await fleet.clock.advance(3)
        assert (a.levels()["m"], b.levels()["m"]) == (Level.OPEN, Level.OPEN)
    assert fleet.moves() == [(Level.HEALTHY, Level.OPEN)]


async def test_a_document_the_store_lost_is_put_back_and_a_new_replica_adopts_it() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        fail(guard, 10)
        await fleet.clock.advance(2)
        opened = guard.snapshot("m")
        fleet.states._kept.clear()
        await fleet.clock.advance(2)
        newcomer = fleet.replica("b")
        await newcomer.poll()
        assert newcomer.snapshot("m") == opened
        assert newcomer.levels() == {"m": Level.OPEN}


async def test_a_transition_whose_winner_died_before_logging_is_logged_by_another() -> None:
    fleet = Fleet()
    a, b = fleet.replica("a"), fleet.replica("b")
    moved = await a.force("m", Mode.FORCED_OPEN, "op", "drill", T0 + 3_600)
    fleet.told._kept.clear()
    await b.poll()
    await b.evaluate()
    assert fleet.told.rows == [moved.transitions[-1]]


async def test_a_replica_that_starts_while_a_model_is_open_keeps_its_cool_down() -> None:
    fleet = Fleet()
    a = fleet.replica("a")
    async with fleet.running(a):
        fail(a, 10)
        await fleet.clock.advance(2)
        opened = a.snapshot("m")
    b = fleet.replica("b")
    async with fleet.running(b):
        assert (b.snapshot("m").since, b.snapshot("m").until) == (opened.since, opened.until)


async def test_the_leader_dies_and_another_evaluates_within_its_lease() -> None:
    fleet = Fleet()
    a, b = fleet.replica("a"), fleet.replica("b")
    async with fleet.running(a):
        await fleet.clock.advance(2)
    async with fleet.running(b):
        await fleet.clock.advance(6)
        fail(b, 10)
        await fleet.clock.advance(2)
        assert b.levels() == {"m": Level.OPEN}


async def test_a_step_that_fails_once_does_not_end_its_loop(caplog: pytest.LogCaptureFixture) -> None:
    fleet = Fleet()
    guard = fleet.replica()
    kept = guard._reader._recent._counts

    class Broken:
        async def fast_of(self, *_: Any) -> Any:
            raise ValueError("a bug")

    async with fleet.running(guard):
        guard._reader._recent._counts = Broken()  # type: ignore[assignment]
        await fleet.clock.advance(2)
        guard._reader._recent._counts = kept
        fail(guard, 10)
        await fleet.clock.advance(2)
        assert guard.levels() == {"m": Level.OPEN}
    assert "breaker step evaluate failed" in caplog.text


async def test_an_operators_reset_ends_what_a_replica_raised_alone_while_the_store_was_gone() -> None:
    fleet = Fleet()
    a, b = fleet.replica("a"), fleet.replica("b")
    async with fleet.running(a, b):
        fleet.down = True
        fail(b, 5)
        await fleet.clock.advance(12)
        fail(b, 1)
        await fleet.clock.advance(3)
        assert b.levels()["m"] is Level.OPEN
        fleet.down = False
        b.counters._streaks.clear()
        await fleet.clock.advance(45)
        await a.force("m", Mode.OBSERVE, "op", "look first", 0.0)
        await a.force("m", Mode.AUTO, "op", "fine")
        await fleet.clock.advance(2)
        assert (a.levels()["m"], b.levels()["m"]) == (Level.HEALTHY, Level.HEALTHY)


async def test_a_forced_normal_that_ran_out_while_the_store_was_gone_holds_no_more() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        await guard.force("m", Mode.FORCED_NORMAL, "op", "rule is wrong", T0 + 30)
        fleet.down = True
        await fleet.clock.advance(20)
        fail(guard, 10)
        await fleet.clock.advance(2)
        assert guard.levels() == {"m": Level.HEALTHY}
        await fleet.clock.advance(10)
        fail(guard, 10)
        await fleet.clock.advance(2)
        assert guard.levels() == {"m": Level.OPEN}

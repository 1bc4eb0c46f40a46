"""The fleet's clock is set back (Redis fails over to a machine whose clock is behind): nothing stands still for that long."""

from dataclasses import replace

import pytest

from breaker.edges import AHEAD_S, enter, set_back
from breaker.fleet import newly_breached
from breaker.history import MinuteHistory
from breaker.levels import Level, Mode, Reason
from breaker.machine import force, next_snapshot
from breaker.policy import BreakerPolicy
from breaker.seen import Seen
from breaker.snapshot import Snapshot
from breaker.window import Counts, MinuteRow
from store.memory import MemoryCounts
from tests.support.clock import ManualClock
from tests.support.memory_fleet import Fleet, talk

POLICY = BreakerPolicy(cooldown_jitter=0.0)
T0 = 1_700_000_040.0
BACK_S = 3_600.0


def opened() -> Snapshot:
    return enter(Snapshot(model="m"), Level.OPEN, T0 + BACK_S, (Reason.ROLLING_15M,), POLICY)


def test_a_cool_down_lasts_as_long_as_it_was_meant_to() -> None:
    back = next_snapshot(opened(), Seen(), POLICY, T0)
    assert (back.level, back.since, back.until) == (Level.OPEN, T0, T0 + POLICY.cooldown_s)
    assert back.epoch == opened().epoch + 1 and back.transitions == opened().transitions, "nobody is told"
    assert next_snapshot(back, Seen(), POLICY, back.until - 1) is back
    assert next_snapshot(back, Seen(), POLICY, back.until + 1).level is Level.RECOVERING


def test_windows_begin_now_and_not_in_an_hour() -> None:
    cleared = replace(Snapshot(model="m"), epoch=5, since=T0 + BACK_S, watermark=T0 + BACK_S, reasons=(Reason.CLEARED,))
    ill = [
        MinuteRow(model="m", scope="", minute=int(T0 // 60) + minute, counts=Counts(judged=40, stuck=30))
        for minute in range(1, 3)
    ]
    blind = Seen(minutes=ill)
    back = next_snapshot(cleared, blind, POLICY, T0 + 2)
    assert back.watermark == T0 + 2
    assert next_snapshot(back, blind, POLICY, T0 + 200).level is Level.REDUCED
    assert newly_breached({"m": cleared}, [(cleared, back)], T0 + 2, 300.0) == set(), "no breach, so no suspicion"


def test_a_forced_mode_and_a_pin_end_as_long_after_as_they_were_meant_to() -> None:
    forced = force(Snapshot(model="m"), Mode.FORCED_OPEN, "op", "drill", T0 + BACK_S + 600, T0 + BACK_S)
    assert set_back(forced, T0).mode_until == T0 + 600
    observed = force(Snapshot(model="m"), Mode.OBSERVE, "op", "drill", 0.0, T0 + BACK_S)
    assert set_back(observed, T0).mode_until == 0.0, "no end stays no end"
    pinned = replace(opened(), pinned_until=T0 + BACK_S + 90)
    assert set_back(pinned, T0).pinned_until == T0 + 90


@pytest.mark.parametrize("ahead_s", [-5.0, 0.0, 1.0, AHEAD_S])
def test_a_replica_that_is_a_little_behind_changes_nothing(ahead_s: float) -> None:
    here = replace(Snapshot(model="m"), since=T0 + ahead_s, watermark=T0 + ahead_s)
    assert set_back(here, T0) is here


async def test_minutes_are_read_anew_and_whole_evaluations_go_on() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        talk(guard, 40, 0)
        await fleet.clock.advance(80)
        assert guard.explanations["m"].at > 0
        fleet.clock.step(-BACK_S)
        guard.explanations.clear()
        await fleet.clock.advance(20)
        assert guard.explanations["m"].at <= fleet.clock.now_s()


async def test_history_is_read_whole_once_the_clock_went_back() -> None:
    clock = ManualClock(T0)
    counts, minute = MemoryCounts(clock), int(T0 // 60)
    await counts.flush("b", [MinuteRow(model="m", scope="", minute=minute - 100, counts=Counts(judged=1))], [])
    history = MinuteHistory(counts)
    assert not (await history.minutes_of(["m"], minute + 60))["m"]
    assert [row.minute for row in (await history.minutes_of(["m"], minute))["m"]] == [minute - 100]

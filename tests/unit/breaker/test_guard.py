"""The guard over stores in memory: replicas that agree, outages that lose nothing, permits that run out."""

import asyncio
from typing import Any

import pytest

from breaker.levels import Level, Mode, Reason
from breaker.machine import RefusedMove
from breaker.policy import BreakerPolicy
from store.memory import MemoryLease
from tests.support.memory_fleet import T0, Fleet, fail, talk


async def test_counts_of_two_replicas_add_up_to_one_transition_that_both_obey() -> None:
    fleet = Fleet()
    a, b = fleet.replica("a"), fleet.replica("b")
    async with fleet.running(a, b):
        talk(a, 13, 2)
        talk(b, 12, 3)
        await fleet.clock.advance(80)
    assert fleet.moves() == [(Level.HEALTHY, Level.WARN)]
    assert a.snapshot("m") == b.snapshot("m")
    assert a.levels() == {"m": Level.WARN}


async def test_a_dead_vendor_is_out_within_two_seconds() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    heard: list[Any] = []
    guard.callbacks.append(heard.append)
    async with fleet.running(guard):
        fail(guard, 10)
        await fleet.clock.advance(2)
        assert guard.levels() == {"m": Level.OPEN}
        assert [t.reasons for t in heard] == [(Reason.HARD_FAILURES,)]


async def test_five_failures_in_a_row_on_a_replica_without_the_lease_open_too() -> None:
    fleet = Fleet()
    a, b = fleet.replica("a"), fleet.replica("b")
    async with fleet.running(a, b):
        fail(b, 1)
        await fleet.clock.advance(11)
        fail(b, 4)
        await fleet.clock.advance(3)
    assert [t.reasons for t in fleet.told.rows] == [(Reason.HARD_IN_A_ROW,)]


async def test_all_models_breaching_at_once_is_first_taken_for_an_ill_detector() -> None:
    fleet = Fleet(("x", "y", "z"))
    guard = fleet.replica()
    async with fleet.running(guard):
        for model in fleet.models:
            talk(guard, 20, 30, model)
        await fleet.clock.advance(90)
        assert guard.detector_suspect
        assert set(guard.levels().values()) == {Level.HEALTHY}
        await fleet.clock.advance(10 * 60)
        assert not guard.detector_suspect
        assert set(guard.levels().values()) == {Level.REDUCED}


async def test_over_the_cap_on_open_models_the_next_stays_reduced() -> None:
    fleet = Fleet(("m", "y", "z"), BreakerPolicy(max_open_ratio=0.5))
    guard = fleet.replica()
    async with fleet.running(guard):
        await guard.force("y", Mode.FORCED_OPEN, "op", "drill", T0 + 3_600)
        fail(guard, 10)
        await fleet.clock.advance(5)
        assert guard.levels() == {"m": Level.REDUCED, "y": Level.OPEN, "z": Level.HEALTHY}
        assert guard.open_cap_hits == 1
    assert [t.to_level for t in fleet.told.rows if t.model == "m"] == [Level.REDUCED]


async def test_an_operator_resets_and_is_refused_without_a_reason() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        fail(guard, 10)
        await fleet.clock.advance(2)
        with pytest.raises(RefusedMove):
            await guard.reset("m", "op", "")
        await guard.reset("m", "op", "vendor is back")
        await fleet.clock.advance(5)
        assert guard.levels() == {"m": Level.HEALTHY}
    assert fleet.moves() == [(Level.HEALTHY, Level.OPEN), (Level.OPEN, Level.HEALTHY)]


async def test_the_explanation_names_every_rule_and_the_next_change() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        talk(guard, 10, 5)
        await fleet.clock.advance(80)
        explanation = await guard.explain("m")
    assert explanation.unknown
    assert explanation.probes_wanted
    first = explanation.rules[0]
    assert (first.reason, first.level, first.n, first.minimum) == (Reason.RATIO_10M, Level.WARN, 15, 30)
    assert (first.value, first.line, first.known, first.fired) == (pytest.approx(1 / 3), 0.08, False, False)


async def test_closing_writes_the_last_counts_and_frees_the_lease() -> None:
    fleet = Fleet()
    a, b = fleet.replica("a"), fleet.replica("b")
    await a.evaluate()
    talk(a, 3, 0)
    await a.close()
    minute = int(T0 // 60)
    assert [row.counts.judged for row in await fleet.counts.minutes("m", minute, minute)] == [3, 3, 3]
    assert await b._lease.hold("breaker-evaluate", "b", 5.0) is not None


async def test_the_last_model_of_a_route_that_keeps_it_stays_reduced() -> None:
    fleet = Fleet(("m", "y"))
    guard = fleet.replica(keep_last=[("m", "y")])
    async with fleet.running(guard):
        await guard.force("y", Mode.FORCED_OPEN, "op", "drill", T0 + 3_600)
        fail(guard, 10)
        await fleet.clock.advance(5)
        assert guard.levels() == {"m": Level.REDUCED, "y": Level.OPEN}
        assert guard.snapshot("m").reasons == (Reason.HARD_FAILURES, Reason.LAST_MODEL)


async def test_two_evaluators_of_the_same_trip_make_one_transition() -> None:
    fleet = Fleet()
    a, b = fleet.replica("a"), fleet.replica("b")
    b._lease = MemoryLease(fleet.clock)  # a lease that went wrong: both believe they hold it
    heard: list[Any] = []
    a.callbacks.append(heard.append)
    b.callbacks.append(heard.append)
    fail(a, 10)
    await a.flush()
    await asyncio.gather(a.evaluate(), b.evaluate())
    await asyncio.gather(a.poll(), b.poll())
    assert len(heard) == 1
    assert fleet.moves() == [(Level.HEALTHY, Level.OPEN)]
    assert a.snapshot("m") == b.snapshot("m")
    assert a.snapshot("m").epoch == 1


async def test_full_evaluations_leave_their_readings_for_the_gauges() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        talk(guard, 10, 5)
        await fleet.clock.advance(80)
    assert guard.explanations["m"].unknown


async def test_a_reload_keeps_where_models_stand_and_forgets_those_that_are_gone() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        await guard.force("m", Mode.FORCED_OPEN, "op", "incident", T0 + 600)
        guard.adopt(("m", "new"), guard.policy)
        await fleet.clock.advance(20)
        assert guard.levels() == {"m": Level.OPEN, "new": Level.HEALTHY}
        guard.adopt(("new",), guard.policy)
        fail(guard, 1)  # a request that began before ends now
        await fleet.clock.advance(20)
        assert guard.levels() == {"new": Level.HEALTHY}
        guard.adopt(("m", "new"), guard.policy)
        await fleet.clock.advance(2)
        assert guard.levels()["m"] is Level.OPEN  # the document itself outlives a reload


async def test_after_a_trip_a_replica_sends_the_open_model_at_most_what_it_sends_in_one_poll() -> None:
    """The bound of docs/breaker.md: whoever decides stops at once, every other replica with its next poll."""
    fleet = Fleet()
    guards = [fleet.replica(name) for name in "abcdefgh"]
    sent: dict[str, int] = {}
    per_second = 100
    async with fleet.running(*guards):
        await guards[0].force("m", Mode.FORCED_OPEN, "op", "drill", fleet.clock.now_s() + 600)
        for _ in range(5 * per_second):
            for name, guard in zip("abcdefgh", guards, strict=True):
                sent[name] = sent.get(name, 0) + (guard.levels()["m"] is not Level.OPEN)
            await fleet.clock.advance(1 / per_second)
    assert sent["a"] == 0
    bound = per_second * fleet.policy.poll_s
    assert all(count <= bound for count in sent.values())
    assert max(sent.values()) > 0, "a test that cannot fail proves nothing"


async def test_levels_are_remembered_until_a_document_changes() -> None:
    fleet = Fleet(("m", "y"))
    a, b = fleet.replica("a"), fleet.replica("b")
    async with fleet.running(a, b):
        before = b.levels()
        assert b.levels() is before
        await a.force("m", Mode.FORCED_OPEN, "op", "drill", T0 + 30)
        assert a.levels() == {"m": Level.OPEN, "y": Level.HEALTHY}
        await fleet.clock.advance(2)
        assert b.levels() == a.levels()
        assert before == {"m": Level.HEALTHY, "y": Level.HEALTHY}


async def test_who_is_nudged_adopts_the_document_before_its_next_poll() -> None:
    fleet = Fleet()
    a, b, c = fleet.replica("a"), fleet.replica("b"), fleet.replica("c")
    async with fleet.running(a, b, c):
        await fleet.clock.advance(0.1)
        await a.force("m", Mode.FORCED_OPEN, "op", "drill", T0 + 600)
        b.nudge()
        b.nudge()
        await fleet.clock.advance(0.2)
        assert (b.levels()["m"], c.levels()["m"]) == (Level.OPEN, Level.HEALTHY)
        await fleet.clock.advance(1.0)
        assert c.levels()["m"] is Level.OPEN, "the word that was lost changes nothing"


async def test_one_failure_after_a_recovery_that_another_replica_proved_does_not_open_again() -> None:
    """The row of failures of before is on the far side of the watermark."""
    fleet = Fleet()
    a, b = fleet.replica("a"), fleet.replica("b")
    async with fleet.running(a, b):
        fail(a, 10)
        await fleet.clock.advance(20)
        assert b.levels()["m"] is Level.RECOVERING
        for _ in range(3):
            with b.permit("m") as permit:
                assert permit is not None
                permit.settle(True)
            await fleet.clock.advance(2)
        assert a.levels()["m"] is Level.REDUCED
        fail(a, 1)
        await fleet.clock.advance(3)
        assert a.levels()["m"] is Level.REDUCED


@pytest.mark.parametrize("until", [float("nan"), float("inf"), T0])
async def test_a_forced_mode_without_an_end_is_refused(until: float) -> None:
    fleet = Fleet()
    with pytest.raises(RefusedMove, match="expiry"):
        await fleet.replica().force("m", Mode.FORCED_OPEN, "op", "drill", until)

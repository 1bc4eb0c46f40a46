"""The transitions one by one, and what must hold for every history."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breaker.levels import Level, Mode, Reason
from breaker.machine import DOWN, UP, RefusedMove, enter, force, next_snapshot, reset
from breaker.policy import BreakerPolicy
from breaker.ports import ProbeTally
from breaker.seen import Seen
from breaker.snapshot import Snapshot
from breaker.window import Counts, FastRow, MinuteRow

POLICY = BreakerPolicy()
T0 = 1_700_000_040.0


def rows(counts: Sequence[tuple[int, int]], start_s: float = T0) -> list[MinuteRow]:
    first = int(start_s // 60)
    return [
        MinuteRow(model="m", scope="", minute=first + i, counts=Counts(judged=n, stuck=k))
        for i, (n, k) in enumerate(counts)
    ]


def opened(now_s: float = T0, **fields: object) -> Snapshot:
    return enter(Snapshot(model="m", **fields), Level.OPEN, now_s, (Reason.ROLLING_15M,), POLICY)  # type: ignore[arg-type]


def step(here: Snapshot, seen: Seen, now_s: float) -> Snapshot:
    return next_snapshot(here, seen, POLICY, now_s, 0.0)


def test_a_move_on_counts_of_two_detectors_says_so_and_is_made_all_the_same() -> None:
    """A rolling upgrade must neither blind the breaker nor pass for an illness unmarked."""
    ill = rows([(40, 20)] * 2)
    for versions, note in (((("2",), ("2",)), ""), ((("2",), ("2", "3")), "counted by detector versions 2, 3")):
        minutes = [replace(row, detectors=by) for row, by in zip(ill, versions, strict=True)]
        for mode in (Mode.AUTO, Mode.OBSERVE):
            (told,) = step(Snapshot(model="m", mode=mode), Seen(minutes=minutes), T0 + 123).transitions
            assert (told.to_level, told.note) == (Level.REDUCED, note)


def test_a_move_by_buckets_of_two_detectors_says_so_as_well() -> None:
    """Fast evaluations read no minutes: the buckets say whose counts they are."""
    stuck = {"attempts": 5, "streams": 5, "stuck": 5, "stuck_sessions": ("a", "b", "c")}
    for versions, note in ((("2",), ""), (("2", "3"), "counted by detector versions 2, 3")):
        row = FastRow(model="m", bucket=int(T0 // 5), detectors=versions, **stuck)  # type: ignore[arg-type]
        (told,) = step(Snapshot(model="m"), Seen(fast=[row]), T0 + 4).transitions
        assert (told.to_level, told.reasons, told.note) == (Level.OPEN, (Reason.STUCK_STREAMS,), note)


def test_nothing_seen_changes_nothing_and_returns_the_same_object() -> None:
    here = Snapshot(model="m")
    assert step(here, Seen(), T0) is here


@pytest.mark.parametrize("seconds, level", [pytest.param(-1, Level.OPEN), pytest.param(1, Level.RECOVERING)])
def test_an_open_model_recovers_only_after_its_cool_down(seconds: float, level: Level) -> None:
    here = opened()
    assert step(here, Seen(), here.until + seconds).level is level


def test_every_edge_outside_the_order_is_refused_with_a_reason() -> None:
    for here in Level:
        for there in Level:
            snapshot = Snapshot(model="m", level=here, epoch=3)
            if here is there:
                assert enter(snapshot, there, T0, (Reason.OPERATOR,), POLICY) is snapshot
            elif (here, there) in UP | DOWN:
                assert enter(snapshot, there, T0, (Reason.OPERATOR,), POLICY).epoch == 4
            else:
                with pytest.raises(RefusedMove, match="no edge"):
                    enter(snapshot, there, T0, (Reason.OPERATOR,), POLICY)


def test_healthy_never_goes_to_recovering() -> None:
    with pytest.raises(RefusedMove):
        enter(Snapshot(model="m"), Level.RECOVERING, T0, (Reason.OPERATOR,), POLICY)


def test_probe_results_of_an_older_epoch_count_for_nothing() -> None:
    recovering = step(opened(), Seen(), T0 + 601)
    late = ProbeTally(epoch=recovering.epoch - 1, granted=13, results=(True,) * 13)
    fresh = ProbeTally(epoch=recovering.epoch, granted=13, results=(True,) * 13)
    assert step(recovering, Seen(probes=late), T0 + 620) is recovering
    assert step(recovering, Seen(probes=fresh), T0 + 620).level is Level.REDUCED


def test_failed_rounds_lengthen_the_cool_down_and_healthy_hours_forgive_them() -> None:
    here, waits = opened(), []
    for _ in range(4):
        waits.append(here.until - here.since)
        here = step(here, Seen(), here.until)
        here = step(here, Seen(), here.until)  # ten minutes without a verdict
    assert waits == [600, 1_200, 1_800, 2_400]
    assert (here.level, here.open_count) == (Level.OPEN, 5)
    healthy = reset(here, "op", "fixed", here.since + 60)
    assert opened(healthy.since + 10).open_count == 1
    later = Snapshot(model="m", open_count=5, since=T0)
    assert enter(later, Level.OPEN, T0 + 3 * 3_600, (Reason.BURST,), POLICY).open_count == 3


def test_a_model_open_for_hard_failures_is_still_probed_as_such_after_a_failed_round() -> None:
    dead = Seen(fast=[FastRow(model="m", bucket=int(T0 // 5), attempts=10, hard=5)])
    here = step(Snapshot(model="m"), dead, T0 + 1)
    assert (here.level, here.until - here.since) == (Level.OPEN, 15.0)
    here = step(here, Seen(), here.until)
    bad = ProbeTally(epoch=here.epoch, granted=3, results=(False, False, False))
    here = step(here, Seen(probes=bad), here.since + 1)
    assert (here.level, here.until - here.since) == (Level.OPEN, 30.0)
    assert here.cause == (Reason.HARD_FAILURES,)


def test_a_fifth_of_attempts_failing_hard_reduces() -> None:
    limping = Seen(fast=[FastRow(model="m", bucket=int(T0 // 5), attempts=10, hard=2)])
    assert step(Snapshot(model="m"), limping, T0 + 1).level is Level.REDUCED


def test_going_down_and_up_again_within_the_hour_pins_the_higher_level_once() -> None:
    here = Snapshot(model="m")
    now_s = T0
    for level in (Level.WARN, Level.HEALTHY):
        now_s += 300
        here = enter(here, level, now_s, (Reason.RATIO_10M,), POLICY)
    assert here.pinned_until == 0.0
    here = enter(here, Level.WARN, now_s + 300, (Reason.RATIO_10M,), POLICY)
    assert here.pinned_until == now_s + 300 + 3_600
    assert here.reasons == (Reason.RATIO_10M, Reason.FLAPPING)
    clean = Seen(minutes=rows([(20, 0)] * 120))
    assert step(here, clean, here.pinned_until - 1) is here
    assert step(here, clean, here.pinned_until + 1).level is Level.HEALTHY


def test_straight_escalation_is_no_flapping() -> None:
    here = Snapshot(model="m")
    for level in (Level.WARN, Level.REDUCED, Level.OPEN):
        here = enter(here, level, T0, (Reason.RATIO_10M,), POLICY)
    assert here.pinned_until == 0.0


@pytest.mark.parametrize(
    "mode, actor, reason, until",
    [
        pytest.param(Mode.FORCED_OPEN, "op", "why", T0 - 1, id="expiry in the past"),
        pytest.param(Mode.FORCED_OPEN, "op", "why", 0.0, id="a forced open must end"),
        pytest.param(Mode.FORCED_NORMAL, "", "why", T0 + 60, id="nobody"),
        pytest.param(Mode.FORCED_NORMAL, "op", "", T0 + 60, id="no reason"),
    ],
)
def test_a_forced_mode_needs_actor_reason_and_expiry(mode: Mode, actor: str, reason: str, until: float) -> None:
    with pytest.raises(RefusedMove):
        force(Snapshot(model="m"), mode, actor, reason, until, T0)


def test_forcing_the_same_again_changes_nothing() -> None:
    once = force(Snapshot(model="m"), Mode.FORCED_OPEN, "op", "why", T0 + 60, T0)
    assert force(once, Mode.FORCED_OPEN, "op", "why", T0 + 60, T0 + 5) is once
    assert once.effective is Level.OPEN


def test_ending_a_forced_open_by_hand_goes_through_recovery() -> None:
    once = force(Snapshot(model="m"), Mode.FORCED_OPEN, "op", "why", T0 + 60, T0)
    ended = force(once, Mode.AUTO, "op", "done", 0.0, T0 + 5)
    assert (ended.mode, ended.level) == (Mode.AUTO, Level.RECOVERING)


def test_a_reset_of_a_model_just_reset_changes_nothing() -> None:
    once = reset(opened(), "op", "why", T0 + 60)
    assert (once.level, once.watermark) == (Level.HEALTHY, T0 + 60)
    assert reset(once, "op", "why", T0 + 60) is once


def test_only_the_last_twenty_transitions_are_kept() -> None:
    here = Snapshot(model="m")
    for second in range(30):
        here = reset(here, "op", "again", T0 + second)
    assert [t.epoch for t in here.transitions] == list(range(11, 31))


minutes = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda p: (p[0], min(p))), max_size=150)


@settings(max_examples=60, deadline=None)
@given(history=minutes, probes=st.lists(st.booleans(), max_size=30))
def test_any_history_moves_by_known_edges_one_epoch_at_a_time(
    history: list[tuple[int, int]], probes: list[bool]
) -> None:
    here, all_rows = Snapshot(model="m"), rows(history)
    for minute in range(len(history) + 1):
        now_s = T0 + 60 * minute + 3
        tally = ProbeTally(epoch=here.epoch, granted=30, results=tuple(probes[: minute % 31]))
        moved = step(here, Seen(minutes=all_rows[:minute], probes=tally), now_s)
        if moved is here:
            continue
        assert (here.level, moved.level) in UP | DOWN
        assert moved.epoch == here.epoch + 1
        assert moved.transitions[-1].epoch == moved.epoch
        assert step(moved, Seen(minutes=all_rows[:minute]), now_s) is moved, "one decision settles it"
        here = moved


@settings(max_examples=60, deadline=None)
@given(
    level=st.sampled_from([Level.HEALTHY, Level.WARN, Level.REDUCED]),
    history=st.lists(st.booleans(), max_size=25),
)
def test_below_the_minimum_sample_nothing_moves(level: Level, history: list[bool]) -> None:
    here = Snapshot(model="m", level=level, since=T0, epoch=1)
    thin = rows([(1, int(bad)) for bad in history])
    for minute in range(len(history) + 1):
        assert step(here, Seen(minutes=thin), T0 + 60 * minute + 3) is here

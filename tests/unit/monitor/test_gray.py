"""Where a gray release goes: steps, stops, pauses, deadlines, and what a person may do."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from pydantic import ValidationError

from breaker.gray import Arm, GrayReason, GrayRelease, GrayStage
from breaker.levels import Level
from breaker.window import Counts
from monitor import gray_commands as commands
from monitor.gray import Around, GrayPolicy, RefusedGray, absorbed, next_release
from monitor.gray_stats import e_value

T0 = 1_700_000_040.0  # the start of a minute
M0 = int(T0 // 60)
POLICY = GrayPolicy()
FINE = Around()


def begun(**more: object) -> GrayRelease:
    release = commands.started(
        None, model="a", candidate="a2", version="v2", id="r1", by_itself=True, policy=POLICY, now_s=T0, actor="ann",
        note="try it",
    )  # fmt: skip
    return replace(release, **more)  # type: ignore[arg-type]


def fed(
    here: GrayRelease, minutes: int, gray: tuple[int, int] = (10, 0), stable: tuple[int, int] = (190, 4), hard: int = 0
) -> tuple[GrayRelease, float]:
    """The release after so many minutes of traffic, and the time it is then."""
    first = here.counted_to
    span = range(first, first + minutes)
    now_s = (first + minutes) * 60.0 + 5.0

    def arm(n: int, k: int, hard: int = 0) -> Mapping[int, Counts]:
        return {minute: Counts(judged=n, stuck=k, timeouts=hard) for minute in span}

    return absorbed(here, arm(*gray, hard), arm(*stable), first + minutes, now_s), now_s


def test_a_release_begins_with_five_percent_and_leaves_out_the_minute_that_runs() -> None:
    here = begun()
    assert (here.stage, here.share, here.split, here.epoch) == (GrayStage.RUNNING, 0.05, 0.05, 1)
    assert here.counted_to == M0 + 1
    (event,) = here.events
    assert (event.reason, event.actor, event.note) == (GrayReason.STARTED, "ann", "try it")


def test_minutes_are_absorbed_once_each() -> None:
    here, now_s = fed(begun(), 3, gray=(10, 1))
    again = absorbed(here, {M0 + 1: Counts(judged=99)}, {}, here.counted_to, now_s)
    assert again is here
    assert (here.gray, here.step_judged) == (Arm(judged=30, repeats=3, attempts=30), 30)
    assert here.stable.judged == 570


def test_a_good_version_goes_through_all_steps_by_itself_and_each_has_its_least_sample_and_time() -> None:
    here, seen = begun(), []
    for _ in range(400):
        here, now_s = fed(here, 1, gray=(20, 0), stable=(180, 4))
        moved = next_release(here, FINE, POLICY, now_s)
        if moved.share != here.share or not moved.stage.active:
            assert here.step_judged >= 200
            assert now_s - here.step_at >= 1_800
            seen.append((moved.stage, moved.share))
        here = moved
        if not here.stage.active:
            break
    assert seen == [
        (GrayStage.RUNNING, 0.25), (GrayStage.RUNNING, 0.5), (GrayStage.RUNNING, 1.0), (GrayStage.PROMOTED, 1.0),
    ]  # fmt: skip
    assert here.split == 1.0
    assert here.reason is GrayReason.ALL_PASSED


def test_a_step_with_data_enough_still_waits_for_its_time_and_one_with_time_for_its_data() -> None:
    here, now_s = fed(begun(), 28, gray=(100, 0))
    assert next_release(here, FINE, POLICY, now_s) is here
    here, now_s = fed(begun(), 60, gray=(3, 0))
    assert next_release(here, FINE, POLICY, now_s) is here


def test_a_version_that_repeats_more_is_rolled_back_with_its_evidence_and_must_wait() -> None:
    here = begun()
    for _ in range(200):
        here, now_s = fed(here, 1, gray=(10, 1), stable=(190, 4))
        here = next_release(here, FINE, POLICY, now_s)
        if not here.stage.active:
            break
    assert (here.stage, here.reason, here.split) == (GrayStage.ROLLED_BACK, GrayReason.WORSE_REPEATS, 0.0)
    assert e_value(here.repeat_logs) >= 100
    numbers = here.events[-1].numbers
    assert numbers is not None
    assert numbers["gray_ratio"] == pytest.approx(0.1)
    start = {"model": "a", "candidate": "a2", "id": "r2", "by_itself": True, "policy": POLICY, "actor": "x", "note": ""}
    with pytest.raises(RefusedGray, match=r"waits 24\.0 h"):
        commands.started(here, version="v2", now_s=now_s, **start)  # type: ignore[arg-type]
    assert commands.started(here, version="v3", now_s=now_s, **start).stage is GrayStage.RUNNING  # type: ignore[arg-type]
    later = commands.started(here, version="v2", now_s=now_s + 86_400, **start)  # type: ignore[arg-type]
    assert later.stage is GrayStage.RUNNING


def test_a_version_that_fails_hard_more_often_is_rolled_back_though_it_repeats_nothing() -> None:
    here = begun()
    for _ in range(200):
        here, now_s = fed(here, 1, gray=(10, 0), hard=2)
        here = next_release(here, FINE, POLICY, now_s)
        if not here.stage.active:
            break
    assert (here.stage, here.reason) == (GrayStage.ROLLED_BACK, GrayReason.WORSE_HARD)


@pytest.mark.parametrize(
    ("around", "why"),
    [
        (Around(candidate=Level.OPEN), GrayReason.OPENED),
        (Around(candidate=Level.RECOVERING), GrayReason.OPENED),
        (Around(stuck=5, stuck_sessions=3), GrayReason.STUCK_STREAMS),
        (Around(stuck=50, stuck_sessions=2), None),
        (Around(stuck=4, stuck_sessions=4), None),
        (Around(candidate=Level.REDUCED), None),
    ],
)
@pytest.mark.parametrize("stage", [GrayStage.RUNNING, GrayStage.PAUSED, GrayStage.WAITING])
def test_hard_stops_hold_at_every_stage(around: Around, why: GrayReason | None, stage: GrayStage) -> None:
    here = begun(stage=stage, reason=GrayReason.OPERATOR)
    moved = next_release(here, around, POLICY, T0 + 61)
    if why is None:
        assert moved is here
    else:
        assert (moved.stage, moved.reason) == (GrayStage.ROLLED_BACK, why)


def test_row_48_no_data_is_neither_good_nor_bad_it_pauses_and_goes_on_with_the_first_reply() -> None:
    here = begun()
    assert next_release(here, FINE, POLICY, T0 + 599) is here
    paused = next_release(here, FINE, POLICY, T0 + 600)
    assert (paused.stage, paused.reason, paused.split) == (GrayStage.PAUSED, GrayReason.NO_DATA, 0.05)
    assert next_release(paused, FINE, POLICY, T0 + 7_200) is paused
    resumed, now_s = fed(replace(paused, counted_to=M0 + 120), 1, gray=(1, 0))
    assert next_release(resumed, FINE, POLICY, now_s).stage is GrayStage.RUNNING
    assert resumed.gray.judged == 1


def test_without_data_until_the_deadline_it_is_rolled_back() -> None:
    paused = next_release(begun(), FINE, POLICY, T0 + 600)
    assert next_release(paused, FINE, POLICY, T0 + POLICY.deadline_s - 1) is paused
    ended = next_release(paused, FINE, POLICY, T0 + POLICY.deadline_s)
    assert (ended.stage, ended.reason) == (GrayStage.ROLLED_BACK, GrayReason.STARVED)


def test_a_trickle_of_data_does_not_put_the_deadline_off() -> None:
    here = begun()
    now_s = T0
    while now_s < T0 + POLICY.deadline_s:
        here, now_s = fed(here, 8, gray=(0, 0))
        here, now_s = fed(here, 1, gray=(1, 0))
        here = next_release(here, FINE, POLICY, now_s)
        if not here.stage.active:
            break
    # One reply in nine minutes is 480 in three days: enough for the first step, not for the rest.
    assert here.step <= 1
    few = replace(begun(), data_at=T0 + POLICY.deadline_s)
    assert next_release(few, FINE, POLICY, T0 + POLICY.deadline_s).reason is GrayReason.STARVED


def test_a_sick_stable_arm_pauses_what_comes_then_counts_for_nothing_and_its_time_neither() -> None:
    here, now_s = fed(begun(), 10)
    paused = next_release(here, Around(stable=Level.REDUCED), POLICY, now_s)
    assert (paused.stage, paused.reason) == (GrayStage.PAUSED, GrayReason.STABLE_SICK)
    fed_on, now_s = fed(paused, 60, gray=(10, 5))
    assert fed_on.gray == here.gray
    assert next_release(fed_on, Around(stable=Level.OPEN), POLICY, now_s) is fed_on
    resumed = next_release(fed_on, FINE, POLICY, now_s)
    assert (resumed.stage, resumed.step_quiet_s) == (GrayStage.RUNNING, now_s - paused.since)
    assert next_release(resumed, FINE, POLICY, now_s + 60) is resumed


def test_at_the_last_step_nobody_is_compared_with_the_stable_arm_any_more() -> None:
    here = begun(step=3, share=1.0)
    assert next_release(here, Around(stable=Level.OPEN), POLICY, T0 + 61) is here


def test_row_48_the_source_of_the_counts_may_fail_four_times_the_fifth_pauses_it() -> None:
    here, now_s = fed(begun(), 5)
    for failures in (1, 2, 3, 4):
        assert next_release(here, Around(source_failures=failures), POLICY, now_s) is here
    paused = next_release(here, Around(source_failures=5), POLICY, now_s)
    assert (paused.stage, paused.reason) == (GrayStage.PAUSED, GrayReason.SOURCE_FAILS)
    assert next_release(paused, Around(source_failures=9), POLICY, now_s + 900) is paused
    assert next_release(paused, FINE, POLICY, now_s + 900).stage is GrayStage.RUNNING


def test_row_48_too_few_samples_never_pass() -> None:
    here, now_s = fed(begun(), 60, gray=(1, 0))
    assert next_release(here, FINE, POLICY, now_s) is here


def test_steps_by_hand_wait_for_a_person_and_are_still_watched() -> None:
    here, now_s = fed(begun(by_itself=False), 60)
    waiting = next_release(here, FINE, POLICY, now_s)
    assert (waiting.stage, waiting.share) == (GrayStage.WAITING, 0.05)
    worse, later_s = fed(waiting, 60, gray=(10, 2))
    assert next_release(worse, FINE, POLICY, later_s).reason is GrayReason.WORSE_REPEATS
    stepped = commands.advanced(waiting, POLICY, now_s, "ann", "looks fine")
    assert (stepped.stage, stepped.share, stepped.step_judged) == (GrayStage.RUNNING, 0.25, 0)


def test_a_new_version_during_an_analysis_starts_its_counters_anew() -> None:
    here, now_s = fed(begun(step=1, share=0.25), 30)
    fresh = commands.started(
        here, model="a", candidate="a2", version="v3", id="r2", by_itself=True, policy=POLICY, now_s=now_s, actor="ann",
        note="fixed",
    )  # fmt: skip
    assert (fresh.gray, fresh.stable, fresh.repeat_logs, fresh.step, fresh.share) == (Arm(), Arm(), (), 0, 0.05)
    assert (fresh.epoch, fresh.reason) == (here.epoch + 1, GrayReason.NEW_VERSION)
    assert fresh.gray_arm != here.gray_arm


def test_row_50_stopped_by_hand_with_no_samples_is_stopped_and_never_passed() -> None:
    here = commands.stopped(begun(), T0 + 10, "ann", "changed my mind")
    assert (here.stage, here.reason, here.split, here.ended_at) == (
        GrayStage.STOPPED, GrayReason.OPERATOR, 0.0, T0 + 10,
    )  # fmt: skip
    assert here.rejected == ()
    assert next_release(here, FINE, POLICY, T0 + 1e6) is here


def test_a_pause_by_hand_lasts_until_a_person_ends_it_and_its_time_does_not_count() -> None:
    here, now_s = fed(begun(), 5)
    paused = commands.paused(here, now_s, "ann", "holiday")
    assert next_release(paused, FINE, POLICY, now_s + 2 * POLICY.deadline_s) is paused
    resumed = commands.resumed(paused, now_s + 9_000, "ann", "back")
    assert (resumed.stage, resumed.step_quiet_s) == (GrayStage.RUNNING, 9_000.0)


def test_what_makes_no_sense_is_refused_and_says_why() -> None:
    here = begun()
    over = commands.stopped(here, T0, "ann", "")
    start = {"id": "r2", "by_itself": True, "policy": POLICY, "now_s": T0, "actor": "x", "note": ""}
    for act, says in (
        (lambda: commands.started(None, model="a", candidate="a", version="v", **start), "cannot replace itself"),
        (lambda: commands.started(here, model="a", candidate="b", version="v", **start), "stop it first"),
        (lambda: commands.started(here, model="a", candidate="a2", version="v2", **start), "under way already"),
        (
            lambda: commands.started(
                commands.promoted(here, T0, "x", ""), model="a", candidate="a2", version="v9", **start
            ),
            "in the configuration",
        ),
        (lambda: commands.advanced(over, POLICY, T0, "x", ""), "has ended: stopped"),
        (lambda: commands.paused(over, T0, "x", ""), "has ended"),
        (lambda: commands.paused(commands.paused(here, T0, "x", ""), T0, "x", ""), "already"),
        (lambda: commands.resumed(here, T0, "x", ""), "not paused"),
        (lambda: commands.stopped(over, T0, "x", ""), "has ended"),
        (lambda: commands.promoted(over, T0, "x", ""), "has ended"),
    ):
        with pytest.raises(RefusedGray, match=says):
            act()


def test_a_promoted_release_can_be_taken_back_by_hand() -> None:
    promoted = commands.promoted(begun(), T0, "ann", "urgent")
    assert promoted.split == 1.0
    assert commands.stopped(promoted, T0 + 1, "ann", "it broke").split == 0.0


def test_the_last_step_by_hand_promotes() -> None:
    assert commands.advanced(begun(step=3, share=1.0), POLICY, T0, "x", "").stage is GrayStage.PROMOTED


@pytest.mark.parametrize("steps", [[0.5, 0.2, 1.0], [0.1, 0.1, 1.0], [0.05, 0.5], [0.0, 1.0], []])
def test_steps_must_rise_and_end_with_everybody(steps: list[float]) -> None:
    with pytest.raises(ValidationError):
        GrayPolicy.model_validate({"steps": steps})

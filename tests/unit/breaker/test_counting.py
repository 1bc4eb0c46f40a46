"""Counts of one process: what is counted where, and what a lost flush does to them."""

import dataclasses

from base.faults import Fault
from breaker.counting import LocalCounters
from breaker.outcome import Outcome, classify
from detector.verdict import Health, LoopClass, Verdict

T0 = 1_700_000_040.0
LOOP = Verdict(health=Health.DEGENERATE, loop_class=LoopClass.SENTENCE_LOOP, fingerprint=0xABC)


def note(counters: LocalCounters, now_s: float = T0, **fields: object) -> None:
    given: dict[str, object] = {
        "model": "m",
        "scene": "chat",
        "endpoint": 0,
        "outcome": Outcome.GOOD,
        "fault": None,
        "verdict": None,
        "stream": False,
        "session": "s",
        "tokens_in": 10,
        "tokens_out": 20,
        "elapsed_s": 0.5,
        "suppressed_chars": 0,
        "hard_stop": False,
        "now_s": now_s,
    }
    counters.note(**(given | fields))  # type: ignore[arg-type]


def test_a_good_reply_is_judged_once_in_each_scope() -> None:
    counters = LocalCounters("a")
    note(counters)
    minutes, fast = counters.dirty()
    assert [row.scope for row in minutes] == ["", "endpoint:0", "scene:chat"]
    assert {(row.counts.judged, row.counts.repeats, row.counts.elapsed_ms) for row in minutes} == {(1, 0, 500)}
    assert [(row.attempts, row.hard) for row in fast] == [(1, 0)]


def test_a_stopped_loop_counts_its_class_its_fingerprint_and_its_session() -> None:
    counters = LocalCounters("a")
    note(counters, outcome=Outcome.DEGENERATE, fault=Fault.REPETITION, verdict=LOOP, stream=True, hard_stop=True)
    minutes, fast = counters.dirty()
    assert (minutes[0].counts.sentence_loop, minutes[0].counts.hard_stops, minutes[0].counts.judged) == (1, 1, 1)
    assert minutes[0].fingerprints == {"0000000000000abc": 1}
    assert (fast[0].stuck, fast[0].stuck_sessions, fast[0].streams) == (1, ("s",), 1)
    assert fast[0].loop_sessions == {"0000000000000abc": ("s",)}


def test_a_repetition_without_a_verdict_still_is_one_repeat() -> None:
    counters = LocalCounters("a")
    note(counters, outcome=Outcome.DEGENERATE, fault=Fault.REPETITION)
    assert counters.dirty()[0][0].counts.repeats == 1


def test_a_soft_failure_is_a_judged_reply_and_counts_by_its_kind() -> None:
    counters = LocalCounters("a")
    note(counters, fault=Fault.EMPTY)
    note(counters, fault=Fault.GARBLE)
    note(counters, fault=Fault.INVALID_FORMAT, structured=True)
    note(counters, fault=Fault.INVALID_FORMAT, structured=True, unreadable=True)
    counts = counters.dirty()[0][0].counts
    assert (counts.judged, counts.repeats, counts.empty, counts.garble) == (4, 0, 1, 1)
    assert (counts.invalid_format, counts.structured, counts.unreadable, counts.soft) == (2, 2, 1, 3)
    assert counters.had_bad("m", T0)


def test_what_is_not_judged_is_no_soft_failure_either() -> None:
    counters = LocalCounters("a")
    note(counters, outcome=Outcome.NOT_COUNTED, fault=Fault.EMPTY)  # repetition was wanted
    note(counters, outcome=Outcome.NOT_COUNTED, fault=Fault.LENGTH_IN_REASONING)
    counts = counters.dirty()[0][0].counts
    assert (counts.judged, counts.soft) == (0, 0)
    assert not counters.had_bad("m", T0)


def test_hard_failures_are_not_judged_and_abandoned_calls_are_no_attempts() -> None:
    counters = LocalCounters("a")
    note(counters, outcome=Outcome.FAILED, fault=Fault.TIMEOUT_IDLE)
    for fault in (Fault.ABANDONED, Fault.ENDED_BY_US):
        note(counters, outcome=classify(fault, None), fault=fault)
    minutes, fast = counters.dirty()
    counts = minutes[0].counts
    assert (counts.judged, counts.hard, counts.abandoned) == (0, 1, 2)
    assert [(row.attempts, row.hard) for row in fast] == [(1, 1)]


def test_every_hard_fault_has_a_column() -> None:
    from base.faults import HARD

    counters = LocalCounters("a")
    for fault in HARD:
        note(counters, outcome=Outcome.FAILED, fault=fault)
    assert counters.dirty()[0][0].counts.hard == len(HARD)


def test_rows_come_again_until_they_are_kept_and_stay_absolute() -> None:
    counters = LocalCounters("a")
    note(counters)
    first = counters.dirty()
    note(counters)
    second = counters.dirty()
    assert [row.counts.judged for row in second[0]] == [2, 2, 2]
    counters.flushed(*second)
    assert counters.dirty() == ([], [])
    assert first[0][0].counts.judged == 1


def test_what_is_noted_during_a_flush_stays_dirty() -> None:
    counters = LocalCounters("a")
    note(counters)
    rows = counters.dirty()
    note(counters)
    counters.flushed(*rows)
    assert counters.dirty()[0][0].counts.judged == 2


def test_130_minutes_outlast_an_outage_and_no_more() -> None:
    counters = LocalCounters("a")
    for minute in range(200):
        note(counters, T0 + 60 * minute)
    counters.trim(T0 + 60 * 199)
    minutes, fast = counters.dirty()
    assert len({row.minute for row in minutes}) == 130
    assert len(fast) == 6
    assert len(counters.local("m")[0]) == 130


def test_a_success_ends_the_row_of_hard_failures() -> None:
    counters = LocalCounters("a")
    for second in range(5):
        note(counters, T0 + second, outcome=Outcome.FAILED, fault=Fault.CONNECT_FAILED)
    streak = counters.streak("m")
    assert streak is not None
    assert (streak.failures, streak.first_at, streak.last_at) == (5, T0, T0 + 4)
    note(counters)
    assert counters.streak("m") is None


def test_rows_are_records_a_store_can_write() -> None:
    counters = LocalCounters("a")
    note(counters)
    assert dataclasses.asdict(counters.dirty()[0][0])["counts"]["judged"] == 1


def test_a_gray_arm_has_a_scope_of_its_own() -> None:
    counters = LocalCounters("a")
    note(counters, arm="v2")
    assert "arm:v2" in [row.scope for row in counters.dirty()[0]]


def test_local_rows_of_one_model_are_all_that_is_kept_of_it() -> None:
    counters = LocalCounters("boot")
    for minute in (0, 1, 60, 129):
        for model in ("a", "b"):
            note(counters, T0 + 60 * minute, model=model)
    counters.trim(T0 + 60 * 130)
    minutes, fast = counters.local("a")
    assert [row.minute - int(T0 // 60) for row in minutes] == [1, 60, 129]
    assert {row.model for row in minutes} | {row.model for row in fast} == {"a"}
    assert [row.bucket for row in fast] == [int(T0 // 5) + 129 * 12]
    assert counters.local("nobody") == ([], [])


def test_only_bad_replies_are_worth_a_look_while_the_store_is_gone() -> None:
    counters = LocalCounters("boot")
    note(counters)
    assert not counters.had_bad("m", T0)
    note(counters, outcome=Outcome.FAILED)
    assert counters.had_bad("m", T0 + 60)
    assert not counters.had_bad("m", T0 + 131 * 60)


def test_a_row_of_hard_failures_counts_from_the_last_success_and_not_from_before_a_recovery() -> None:
    counters = LocalCounters("a")
    note(counters, T0)
    for second in (8.0, 9.0, 10.0, 11.0, 12.0):
        note(counters, T0 + second, outcome=Outcome.FAILED, fault=Fault.SERVER_ERROR)
    row = counters.streak("m")
    assert row is not None
    assert (row.failures, row.first_at, row.last_at, row.quiet_since) == (5, T0 + 8, T0 + 12, T0)
    since = counters.streak("m", since=T0 + 11.5)
    assert since is not None
    assert since.failures == 1, "another replica's probes have proved the model since: one failure is no row"
    assert counters.streak("m", since=T0 + 13) is None
    note(counters, T0 + 14)
    assert counters.streak("m") is None


def test_a_row_without_any_success_counts_from_its_first_failure_however_long_it_gets() -> None:
    counters = LocalCounters("a")
    for tenth in range(300):
        note(counters, T0 + tenth / 10, outcome=Outcome.FAILED, fault=Fault.TIMEOUT_CONNECT)
    row = counters.streak("m")
    assert row is not None
    assert (row.quiet_since, row.failures >= 5) == (T0, True)


def test_many_different_loops_in_one_bucket_take_bounded_room_and_all_count_as_bad() -> None:
    counters = LocalCounters("a")
    for number in range(500):
        verdict = dataclasses.replace(LOOP, fingerprint=number)
        note(counters, outcome=Outcome.DEGENERATE, fault=Fault.REPETITION, verdict=verdict, session=f"s{number}")
    (bucket,) = counters.dirty()[1]
    assert len(bucket.loops) <= 65
    assert sum(bucket.loops.values()) == 500
    assert all(len(who) <= 64 for who in bucket.loop_sessions.values())

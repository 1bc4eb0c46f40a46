"""Each rule at its lines and minima, and the tests behind them."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest

from breaker.evidence import Evidence, EvidenceKind
from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import Seen, Tally, View, look
from breaker.triggers import read_all
from breaker.triggers.burst import burst
from breaker.triggers.findings import complaints, hard_in_a_row, nightly, scenes
from breaker.triggers.hard import hard_failures
from breaker.triggers.periods import binomial_tail, growth_chance, rose
from breaker.triggers.rolling import streak
from breaker.triggers.soft import soft_failures, unreadable_json
from breaker.triggers.stuck import stuck_streams
from breaker.triggers.trend import mann_kendall, trend
from breaker.window import Counts, FastRow, MinuteRow

POLICY = BreakerPolicy()
T0 = 1_700_000_040.0


def over(
    counts: Sequence[tuple[int, int]] = (),
    *,
    fast: Sequence[FastRow] = (),
    evidence: Sequence[Evidence] = (),
    watermark: float = 0.0,
) -> View:
    """A view whose last complete minute is the last of `counts`; fast rows are placed by bucket 0 = T0."""
    first = int(T0 // 60)
    rows = [
        MinuteRow(model="m", scope="", minute=first + i, counts=Counts(judged=n, stuck=k))
        for i, (n, k) in enumerate(counts)
    ]
    now_s = T0 + 60 * len(counts) + 3
    return look(
        Seen(minutes=rows, fast=fast, evidence=evidence), watermark=watermark, now_s=now_s, grace_s=POLICY.grace_s
    )


def bucket(**fields: Any) -> FastRow:
    return FastRow(model="m", bucket=int(T0 // 5), **fields)


def found(kind: EvidenceKind, numbers: dict[str, float], scene: str = "", id: str = "") -> Evidence:
    return Evidence(
        id=id or f"{kind}:{scene}",
        kind=kind,
        model="m",
        found_at=T0,
        valid_until=T0 + 86_400,
        numbers=tuple(numbers.items()),
        scene=scene,
    )


def test_nothing_seen_is_unknown_to_every_rule() -> None:
    readings = read_all(over(), POLICY)
    assert not any(reading.known or reading.fired for reading in readings)
    assert len({reading.reason for reading in readings}) == len(readings)


def test_windows_never_look_behind_the_watermark() -> None:
    counts = [(100, 90)] * 5 + [(10, 0)] * 5
    assert over(counts).window(10) == Tally(550, 450)
    assert over(counts, watermark=T0 + 300).window(10) == Tally(50, 0)
    assert over(counts, watermark=T0 + 301).window(10) == Tally(40, 0), "the minute that holds it is left out whole"


def test_rows_of_other_scopes_are_not_the_model() -> None:
    row = MinuteRow(model="m", scope="scene:chat", minute=int(T0 // 60), counts=Counts(judged=9))
    seen = look(Seen(minutes=[row]), watermark=0.0, now_s=T0 + 63, grace_s=2.0)
    assert seen.window(1) == Tally()


@pytest.mark.parametrize(
    "counts, run",
    [
        pytest.param([(4, 1)] * 15, 11, id="15 minutes on the line"),
        pytest.param([(4, 1)] * 14, 10, id="one minute short"),
        pytest.param([(4, 1)] * 15 + [(0, 0)] * 5, 15, id="five empty minutes hold"),
        pytest.param([(4, 1)] * 15 + [(0, 0)] * 6, 0, id="six break"),
        pytest.param([(4, 1)] * 15 + [(40, 0)], 0, id="one good evaluation breaks"),
    ],
)
def test_the_streak_of_rolling_evaluations(counts: list[tuple[int, int]], run: int) -> None:
    assert streak(over(counts), POLICY) == run


@pytest.mark.parametrize(
    "row, fired",
    [
        pytest.param({"streams": 25, "stuck": 5, "stuck_sessions": ("a", "b", "c")}, True, id="on every line"),
        pytest.param({"streams": 26, "stuck": 5, "stuck_sessions": ("a", "b", "c")}, False, id="under a fifth"),
        pytest.param({"streams": 20, "stuck": 4, "stuck_sessions": ("a", "b", "c")}, False, id="four streams"),
        pytest.param({"streams": 20, "stuck": 9, "stuck_sessions": ("a", "b")}, False, id="two sessions"),
    ],
)
def test_stuck_streams(row: dict[str, Any], fired: bool) -> None:
    assert stuck_streams(over(fast=[bucket(**row)]), POLICY).fired is fired


@pytest.mark.parametrize(
    "loops, sessions, fired",
    [
        pytest.param({"f": 10, "": 10}, ("a", "b", "c"), True, id="half of the bad"),
        pytest.param({"f": 10, "": 11}, ("a", "b", "c"), False, id="less than half"),
        pytest.param({"f": 9}, ("a", "b", "c"), False, id="nine times"),
        pytest.param({"f": 30}, ("a", "b"), False, id="two sessions"),
        pytest.param({"": 30}, (), False, id="no fingerprint is no burst"),
    ],
)
def test_burst(loops: dict[str, int], sessions: tuple[str, ...], fired: bool) -> None:
    assert burst(over(fast=[bucket(loops=loops, loop_sessions={"f": sessions})]), POLICY).fired is fired


@pytest.mark.parametrize(
    "attempts, hard, level",
    [
        pytest.param(10, 5, Level.OPEN, id="half"),
        pytest.param(10, 2, Level.REDUCED, id="a fifth"),
        pytest.param(10, 1, None, id="a tenth"),
        pytest.param(9, 9, None, id="too few"),
    ],
)
def test_hard_failures(attempts: int, hard: int, level: Level | None) -> None:
    reading = hard_failures(over(fast=[bucket(attempts=attempts, hard=hard)]), POLICY)
    assert (reading.level if reading.fired else None) == level


def test_hard_failures_are_forgotten_after_thirty_seconds() -> None:
    rows = [bucket(attempts=10, hard=10)]
    for seconds, fired in ((29, True), (36, False)):
        view = look(Seen(fast=rows), watermark=0.0, now_s=T0 + seconds, grace_s=2.0)
        assert hard_failures(view, POLICY).fired is fired


def in_buckets(per_bucket: Sequence[int]) -> View:
    # T0 is the last minute of a bucket: those of the clock begin after it.
    return over([(100, 0), *((100, k if minute == 0 else 0) for k in per_bucket for minute in range(5))])


@pytest.mark.parametrize(
    "errors, fired",
    [
        pytest.param([1, 2, 3, 4, 5, 6], True, id="rises without a fall"),
        pytest.param([1, 2, 3, 5, 6, 5], True, id="a small dip"),
        pytest.param([1, 2, 3, 8, 5, 9], False, id="a fall below 0.8 of the maximum"),
        pytest.param([10, 11, 12, 13, 14, 14], False, id="less than half as much again"),
        pytest.param([0, 1, 2, 3, 4, 5], False, id="too few errors to tell"),
        pytest.param([15, 15, 19, 18, 23, 23], False, id="chance explains it"),
        pytest.param([6, 5, 4, 3, 2, 1], False, id="falls"),
    ],
)
def test_trend(errors: list[int], fired: bool) -> None:
    assert trend(in_buckets(errors), POLICY).fired is fired


def test_mann_kendall_reaches_eleven_of_fifteen_by_chance_in_28_of_a_thousand() -> None:
    orders = list(permutations(range(6)))
    assert max(map(mann_kendall, orders)) == 15
    assert sum(mann_kendall(order) >= 11 for order in orders) / len(orders) == pytest.approx(20 / 720)


@pytest.mark.parametrize(
    "numbers, level",
    [
        pytest.param({"rate": 0.04, "baseline": 0.03, "chance": 0.04}, Level.WARN, id="+33 % and one point"),
        pytest.param({"rate": 0.004, "baseline": 0.002, "chance": 0.001}, None, id="twice almost nothing"),
        pytest.param({"rate": 0.04, "baseline": 0.03, "chance": 0.06}, None, id="chance explains it"),
        pytest.param({"rate": 0.06, "baseline": 0.03, "chance": 0.001}, Level.WARN, id="doubled, not yet re-run"),
        pytest.param({"rate": 0.06, "baseline": 0.03, "chance": 0.001, "confirmed": 1.0}, Level.OPEN, id="doubled"),
    ],
)
def test_nightly(numbers: dict[str, float], level: Level | None) -> None:
    reading = nightly(over(evidence=[found(EvidenceKind.NIGHTLY, numbers)]), POLICY)
    assert (reading.level if reading.fired else None) == level


def test_one_scene_is_the_model_only_with_half_of_its_traffic() -> None:
    def breach(scene: str, traffic: float) -> Evidence:
        return found(EvidenceKind.SCENE, {"repeats": 20, "growth": 1.5, "chance": 0.001, "traffic": traffic}, scene)

    assert not scenes(over(evidence=[breach("chat", 0.4)]), POLICY).fired
    assert scenes(over(evidence=[breach("chat", 0.5)]), POLICY).fired
    assert scenes(over(evidence=[breach("chat", 0.1), breach("qa", 0.1)]), POLICY).fired
    assert not scenes(over(evidence=[breach("chat", 0.1), breach("chat", 0.1)]), POLICY).fired, "one id counts once"


def test_complaints_need_five_users_beyond_chance() -> None:
    for users, chance, fired in ((5, 0.0009, True), (4, 0.0, False), (50, 0.001, False)):
        evidence = found(EvidenceKind.COMPLAINTS, {"users": users, "chance": chance})
        assert complaints(over(evidence=[evidence]), POLICY).fired is fired


def test_five_failures_in_a_row_need_ten_quiet_seconds() -> None:
    for failures, quiet_s, fired in ((5, 10.0, True), (4, 60.0, False), (50, 9.0, False)):
        evidence = found(EvidenceKind.HARD_IN_A_ROW, {"failures": failures, "quiet_s": quiet_s})
        assert hard_in_a_row(over(evidence=[evidence]), POLICY).fired is fired


def test_evidence_ends_with_its_time_and_behind_the_watermark() -> None:
    evidence = found(EvidenceKind.NIGHTLY, {"rate": 0.1, "baseline": 0.01, "chance": 0.0})
    seen = Seen(evidence=[evidence])
    for watermark, now_s, kept in ((0.0, T0 + 1, 1), (0.0, T0 + 86_400, 0), (T0 + 1, T0 + 2, 0)):
        assert len(look(seen, watermark=watermark, now_s=now_s, grace_s=2.0).evidence) == kept


@pytest.mark.parametrize(
    "current, previous, yes",
    [
        pytest.param(Tally(1_000, 6), Tally(1_000, 4), False, id="4 to 6"),
        pytest.param(Tally(1_000, 95), Tally(1_000, 60), True, id="60 to 95"),
        pytest.param(Tally(1_000, 15), Tally(1_000, 0), True, id="0 to 15"),
        pytest.param(Tally(1_000, 9), Tally(1_000, 0), False, id="0 to 9"),
        pytest.param(Tally(2_000, 120), Tally(1_000, 60), False, id="traffic doubles, same ratio"),
    ],
)
def test_period_on_period(current: Tally, previous: Tally, yes: bool) -> None:
    assert rose(current, previous, POLICY.hourly_growth, POLICY) is yes


def test_the_binomial_tail_is_exact() -> None:
    assert binomial_tail(3, 4, 0.5) == pytest.approx(5 / 16)
    assert binomial_tail(0, 4, 0.5) == 1.0
    assert binomial_tail(5, 4, 0.5) == 0.0
    assert growth_chance(Tally(), Tally()) == 1.0


def test_each_rule_has_its_own_reason() -> None:
    decided = {reading.reason for reading in read_all(over(), POLICY)}
    assert Reason.SCENE in decided
    assert len(decided) == 14


def answers(*minutes: dict[str, int]) -> View:
    """A view of these minutes' counts, one after another."""
    first = int(T0 // 60)
    rows = [MinuteRow(model="m", scope="", minute=first + i, counts=Counts(**some)) for i, some in enumerate(minutes)]
    return look(Seen(minutes=rows), watermark=0.0, now_s=T0 + 60 * len(minutes) + 3, grace_s=POLICY.grace_s)


@pytest.mark.parametrize(
    "minutes, level",
    [
        pytest.param([{"judged": 29, "empty": 29}], None, id="below the minimum sample"),
        pytest.param([{"judged": 30, "empty": 4}], None, id="four are no rate"),
        pytest.param([{"judged": 50, "empty": 5}], Level.WARN, id="on the line of L1"),
        pytest.param([{"judged": 51, "empty": 5}], None, id="under it"),
        pytest.param(
            [{"judged": 40, "empty": 2, "garble": 1, "unreadable": 1, "structured": 1}], None, id="one is missing"
        ),
        pytest.param(
            [{"judged": 40, "empty": 2, "garble": 2, "unreadable": 1, "structured": 1}], Level.WARN, id="all kinds"
        ),
        pytest.param([{"judged": 50, "garble": 10}], Level.REDUCED, id="on the line of L2"),
        pytest.param([{"judged": 4, "empty": 2}] * 15, Level.OPEN, id="half of them for 15 minutes"),
        pytest.param([{"judged": 4, "empty": 2}] * 14, Level.REDUCED, id="one minute short"),
        pytest.param([{"judged": 1, "empty": 1}, {"judged": 1}] * 15, Level.OPEN, id="half of the last 30"),
        pytest.param(
            [{"judged": 40, "invalid_format": 40, "structured": 40}], None, id="a schema that nobody can keep"
        ),
        pytest.param([{"judged": 100, "stuck": 60}], None, id="repeats have rules of their own"),
    ],
)
def test_replies_that_are_no_answer_have_lines_of_their_own(minutes: list[dict[str, int]], level: Level | None) -> None:
    reading = soft_failures(answers(*minutes), POLICY)
    assert (reading.level if reading.fired else None) is level
    assert reading.reason is Reason.SOFT_FAILURES


@pytest.mark.parametrize(
    "minute, fired",
    [
        pytest.param(
            {"judged": 900, "structured": 30, "unreadable": 6}, True, id="on the line, of the JSON replies alone"
        ),
        pytest.param({"judged": 900, "structured": 31, "unreadable": 6}, False, id="under it"),
        pytest.param({"judged": 900, "structured": 29, "unreadable": 29}, False, id="below the minimum sample"),
        pytest.param({"judged": 900}, False, id="nobody asked for JSON"),
    ],
)
def test_json_that_cannot_be_read_warns_over_the_replies_that_were_to_be_json(
    minute: dict[str, int], fired: bool
) -> None:
    reading = unreadable_json(answers(minute), POLICY)
    assert (reading.fired, reading.level) == (fired, Level.WARN)


def test_no_rule_of_repeats_sees_soft_failures_and_their_sample_is_known_without_one() -> None:
    ill = answers({"judged": 60, "empty": 60})
    fired = {reading.reason for reading in read_all(ill, POLICY) if reading.fired}
    assert fired == {Reason.SOFT_FAILURES}
    well = soft_failures(answers({"judged": 60}), POLICY)
    assert (well.known, well.n, well.value, well.fired) == (True, 60, 0.0, False)


def test_of_a_burst_half_an_hour_ago_only_the_replies_among_the_last_thirty_decide() -> None:
    quiet = [(1, 0)] * 29
    (reading,) = (r for r in read_all(over([(25, 25), *quiet]), POLICY) if r.reason is Reason.LOW_TRAFFIC_30)
    assert (reading.n, reading.known, reading.fired) == (30, True, False)
    assert reading.value == pytest.approx(1 / 30)
    (reading,) = (r for r in read_all(over([(1, 1), (1, 0)] * 15), POLICY) if r.reason is Reason.LOW_TRAFFIC_30)
    assert (reading.value, reading.fired) == (0.5, True)


def test_the_trend_is_read_off_the_buckets_of_the_clock_so_that_each_is_looked_at_once() -> None:
    rising = [k for k in (1, 2, 3, 4, 5, 6) for _ in range(5)]
    for extra in range(5):
        view = over([(20, 0), *((20, k) for k in rising), *[(20, 6)] * extra])
        assert trend(view, POLICY).numbers == trend(over([(20, 0), *((20, k) for k in rising)]), POLICY).numbers

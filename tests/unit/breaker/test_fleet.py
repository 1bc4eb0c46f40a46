"""What only all models together can tell."""

import pytest

from breaker.edges import enter
from breaker.fleet import (
    Hold,
    allowed,
    as_evidence,
    begun_hold,
    detector_suspect,
    hold_in,
    last_of_a_route,
    lowered,
    newly_breached,
    over_open_cap,
)
from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.snapshot import Snapshot

POLICY = BreakerPolicy()
T0 = 1_700_000_040.0


def to(model: str, level: Level, reason: Reason = Reason.RATIO_30M) -> tuple[Snapshot, Snapshot]:
    here = Snapshot(model=model)
    return here, enter(here, level, T0, (reason,), POLICY)


def states(**levels: Level) -> dict[str, Snapshot]:
    return {model: Snapshot(model=model, level=level) for model, level in levels.items()}


@pytest.mark.parametrize(
    "breached, models, suspect",
    [
        pytest.param(3, 3, True, id="all of three"),
        pytest.param(2, 2, False, id="two are too few to tell"),
        pytest.param(3, 4, False, id="not all of four"),
        pytest.param(4, 6, True, id="two thirds of six"),
        pytest.param(3, 5, False, id="less than two thirds of five"),
    ],
)
def test_the_detector_is_suspect(breached: int, models: int, suspect: bool) -> None:
    assert detector_suspect(breached, models, POLICY) is suspect


def test_a_breach_is_remembered_in_the_documents_for_five_minutes() -> None:
    _, moved = to("a", Level.WARN)
    kept = {"a": moved, "b": Snapshot(model="b")}
    proposed = [to("b", Level.REDUCED), to("c", Level.OPEN, Reason.STUCK_STREAMS)]
    assert newly_breached(kept, proposed, T0 + 299, 300) == {"a", "b"}
    assert newly_breached(kept, proposed, T0 + 300, 300) == {"b"}, "five minutes apart is no one moment"


def test_a_hold_lasts_ten_minutes_and_the_same_breach_does_not_begin_another() -> None:
    moves = [to(model, Level.REDUCED) for model in "abc"]
    healthy = states(a=Level.HEALTHY, b=Level.HEALTHY, c=Level.HEALTHY)
    hold = begun_hold(healthy, moves, None, POLICY, T0)
    assert hold == Hold(began_at=T0, until=T0 + 600, models=3)
    for seconds, passes in ((0, False), (599, False), (600, True), (615, True)):
        assert begun_hold(healthy, moves, hold, POLICY, T0 + seconds) is None
        for here, moved in moves:
            assert (allowed(healthy, here, moved, hold, (), POLICY, T0 + seconds).move is moved) is passes
    assert begun_hold(healthy, moves, hold, POLICY, T0 + 900) is not None, "all at once again, much later"


def test_a_hold_is_the_same_read_back_from_evidence() -> None:
    hold = Hold(began_at=T0, until=T0 + 600, models=3)
    record = as_evidence(hold, POLICY)
    assert hold_in([record]) == hold
    assert record.valid_until == T0 + 900, "known until another may begin"
    assert hold_in([]) is None


def test_stuck_streams_pass_a_hold() -> None:
    hold = Hold(began_at=T0, until=T0 + 600, models=3)
    assert allowed({}, *to("a", Level.REDUCED), hold, (), POLICY, T0).move is None
    here, moved = to("a", Level.OPEN, Reason.STUCK_STREAMS)
    assert allowed({}, here, moved, hold, (), POLICY, T0 + 1).move is moved


def test_the_cap_counts_after_the_change() -> None:
    capped = BreakerPolicy(max_open_ratio=0.5)
    _, moved = to("c", Level.OPEN)
    assert over_open_cap(states(a=Level.OPEN, b=Level.HEALTHY, c=Level.HEALTHY), moved, capped)
    assert not over_open_cap(states(a=Level.HEALTHY, b=Level.HEALTHY, c=Level.HEALTHY), moved, capped)
    assert not over_open_cap(states(a=Level.OPEN, b=Level.OPEN, c=Level.HEALTHY), moved, POLICY)


def test_a_failed_recovery_is_never_capped() -> None:
    capped = BreakerPolicy(max_open_ratio=0.1)
    here = Snapshot(model="a", level=Level.RECOVERING)
    moved = enter(here, Level.OPEN, T0, (Reason.PROBES_FAILED,), capped)
    assert not over_open_cap({"a": here}, moved, capped)
    assert not last_of_a_route({"a": here}, moved, [("a",)])


def test_only_the_last_usable_model_of_a_route_is_kept() -> None:
    _, moved = to("b", Level.OPEN)
    assert last_of_a_route(states(a=Level.OPEN, b=Level.HEALTHY), moved, [("a", "b")])
    assert not last_of_a_route(states(a=Level.REDUCED, b=Level.HEALTHY), moved, [("a", "b")])
    assert not last_of_a_route(states(a=Level.OPEN, b=Level.HEALTHY), moved, [("a",)])


def test_a_model_kept_in_service_says_why_and_did_not_open() -> None:
    here, moved = to("a", Level.OPEN, Reason.ROLLING_15M)
    kept = lowered(here, moved, Reason.LAST_MODEL)
    assert kept is not None
    assert (kept.level, kept.open_count, kept.until) == (Level.REDUCED, 0, 0.0)
    assert kept.transitions[-1].reasons == (Reason.ROLLING_15M, Reason.LAST_MODEL)
    reduced = Snapshot(model="a", level=Level.REDUCED)
    opening = enter(reduced, Level.OPEN, T0, (Reason.ROLLING_15M,), POLICY)
    assert lowered(reduced, opening, Reason.LAST_MODEL) is None

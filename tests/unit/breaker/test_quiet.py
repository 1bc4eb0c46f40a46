"""Who is passed over would not have moved."""

from hypothesis import given, settings
from hypothesis import strategies as st

from breaker.evidence import Evidence, EvidenceKind
from breaker.levels import Level, Mode
from breaker.machine import next_snapshot
from breaker.policy import BreakerPolicy
from breaker.quiet import is_quiet
from breaker.seen import Seen
from breaker.snapshot import Snapshot
from breaker.window import Counts, FastRow, MinuteRow

T0 = 1_700_000_040.0
POLICY = BreakerPolicy()
FAULT_FREE = {"attempts": 20, "streams": 20}


def minute(back: int, good: int, bad: int = 0) -> MinuteRow:
    return MinuteRow(model="m", scope="", minute=int(T0 // 60) - back, counts=Counts(judged=good + bad, stuck=bad))


def bucket(back: int, **numbers: int) -> FastRow:
    return FastRow(model="m", bucket=int(T0 // 5) - back, **{**FAULT_FREE, **numbers})


@settings(max_examples=200, deadline=None)
@given(
    level=st.sampled_from(list(Level)),
    mode=st.sampled_from(list(Mode)),
    minutes=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 60), st.sampled_from([0, 0, 0, 30])), max_size=8),
    fast=st.lists(st.tuples(st.integers(0, 59), st.sampled_from([0, 0, 0, 20])), max_size=6),
    mode_until=st.sampled_from([0.0, T0 - 1, T0 + 1]),
)
def test_a_quiet_model_does_not_move(
    level: Level,
    mode: Mode,
    minutes: list[tuple[int, int, int]],
    fast: list[tuple[int, int]],
    mode_until: float,
) -> None:
    here = Snapshot(model="m", level=level, mode=mode, since=T0 - 7_200, until=T0 - 1, mode_until=mode_until, epoch=3)
    seen = Seen(minutes=[minute(*one) for one in minutes], fast=[bucket(back, hard=hard) for back, hard in fast])
    if is_quiet(here, seen):
        assert next_snapshot(here, seen, POLICY, T0) is here


def test_traffic_without_a_fault_is_quiet_and_each_fault_ends_it() -> None:
    here = Snapshot(model="m")
    well = Seen(minutes=[minute(1, 50), minute(2, 50)], fast=[bucket(0), bucket(1)])
    found = Evidence(id="1", kind=EvidenceKind.NIGHTLY, model="m", found_at=T0, valid_until=T0 + 60)
    looped = FastRow(model="m", bucket=int(T0 // 5), loops={"": 1})
    assert is_quiet(here, well)
    assert not is_quiet(here, Seen(minutes=[minute(1, 50, 1)]))
    for soft in ({"empty": 1}, {"garble": 1}, {"unreadable": 1}):
        row = MinuteRow(model="m", scope="", minute=int(T0 // 60) - 1, counts=Counts(judged=50, **soft))
        assert not is_quiet(here, Seen(minutes=[row]))
    assert not is_quiet(here, Seen(fast=[bucket(0, hard=1)]))
    assert not is_quiet(here, Seen(fast=[bucket(0, stuck=1)]))
    assert not is_quiet(here, Seen(fast=[looped]))
    assert not is_quiet(here, Seen(evidence=[found]))
    assert not is_quiet(Snapshot(model="m", level=Level.OPEN), well)
    assert not is_quiet(Snapshot(model="m", mode=Mode.FORCED_NORMAL), well)

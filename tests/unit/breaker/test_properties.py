"""What must hold of the breaker whatever happens: drawn, not chosen."""

import asyncio
from collections.abc import Sequence, Set
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breaker.commands import force, reset
from breaker.counting import SETTLE_S, LocalCounters
from breaker.edges import DOWN, UP, RefusedMove, enter
from breaker.evidence import Evidence, EvidenceKind
from breaker.fleet import allowed
from breaker.flushing import Flusher
from breaker.history import MinuteHistory
from breaker.levels import Level, Mode, Reason
from breaker.machine import next_snapshot
from breaker.outcome import Outcome
from breaker.policy import BreakerPolicy
from breaker.ports import ProbeTally, StoreUnavailable
from breaker.seen import Seen
from breaker.share import RouteCandidate, phrase_only, shares
from breaker.snapshot import Snapshot
from breaker.window import KEPT_MIN, Counts, FastRow, MinuteRow
from store.memory import MemoryCounts
from tests.support.clock import ManualClock
from tests.support.counters import note_one

POLICY = BreakerPolicy(cooldown_jitter=0.0)
T0 = 1_700_000_040.0
M0 = int(T0 // 60)
LEVELS = st.sampled_from(list(Level))
EXAMPLES = settings(max_examples=60, deadline=None)


def rows(history: Sequence[tuple[int, int]]) -> list[MinuteRow]:
    return [
        MinuteRow(model="m", scope="", minute=M0 + at, counts=Counts(judged=n, sentence_loop=k))
        for at, (n, k) in enumerate(history)
    ]


# -- no move while unknown ---------------------------------------------------------------------------------------


@EXAMPLES
@given(
    level=st.sampled_from([Level.HEALTHY, Level.WARN, Level.REDUCED]),
    replies=st.lists(st.tuples(st.integers(0, 129), st.booleans()), max_size=POLICY.warn_min_judged - 1),
    fast=st.lists(st.tuples(st.integers(0, 59), st.integers(0, 4)), max_size=1),
    at=st.integers(0, 200),
)
def test_nothing_moves_below_every_minimum_sample(
    level: Level, replies: list[tuple[int, bool]], fast: list[tuple[int, int]], at: int
) -> None:
    per_minute = [(0, 0)] * 130
    for minute, bad in replies:
        n, k = per_minute[minute]
        per_minute[minute] = (n + 1, k + bad)
    buckets = [
        FastRow(model="m", bucket=int(T0 // 5) + bucket, attempts=n, hard=n, streams=n, stuck=n, loops={"f": n})
        for bucket, n in fast
    ]
    here = Snapshot(model="m", level=level, since=T0 - 7_200, epoch=3)
    assert next_snapshot(here, Seen(minutes=rows(per_minute), fast=buckets), POLICY, T0 + 60 * at + 3) is here


# -- edges and epochs --------------------------------------------------------------------------------------------

seen_parts = st.fixed_dictionaries(
    {
        "bad": st.integers(0, 60),
        "good": st.integers(0, 60),
        "stuck": st.integers(0, 8),
        "hard": st.integers(0, 12),
        "probes": st.lists(st.booleans(), max_size=30),
        "users": st.integers(0, 9),
        "minutes": st.integers(1, 90),
    }
)
orders = st.sampled_from(["none", "none", "none", "open", "normal", "observe", "auto", "reset", "recovering"])


def seen_of(part: dict[str, object], here: Snapshot, now_s: float) -> Seen:
    n, k = int(str(part["good"])) + int(str(part["bad"])), int(str(part["bad"]))
    stuck, hard = int(str(part["stuck"])), int(str(part["hard"]))
    last = int((now_s - 2) // 60) - 1
    counts = Counts(judged=n, phrase_loop=k)
    results = part["probes"]
    assert isinstance(results, list)
    return Seen(
        minutes=[MinuteRow(model="m", scope="", minute=last - back, counts=counts) for back in range(16)],
        fast=[
            FastRow(
                model="m", bucket=int(now_s // 5), attempts=12, hard=hard, streams=20, stuck=stuck,
                stuck_sessions=("a", "b", "c"),
            )
        ],
        probes=ProbeTally(epoch=here.epoch, granted=30, results=tuple(results)),
        evidence=[
            Evidence(
                id=f"c{now_s}", kind=EvidenceKind.COMPLAINTS, model="m", found_at=now_s, valid_until=now_s + 60,
                numbers=(("users", float(str(part["users"]))), ("chance", 1e-6)),
            )
        ],
    )  # fmt: skip


def ordered(here: Snapshot, order: str, now_s: float) -> Snapshot:
    match order:
        case "open" | "normal":
            return force(here, Mode(f"forced_{order}"), "op", "why", now_s + 600, now_s, POLICY)
        case "observe" | "auto":
            return force(here, Mode(order), "op", "why", 0.0, now_s, POLICY)
        case "reset":
            return reset(here, "op", "why", now_s)
        case "recovering":
            try:
                return enter(here, Level.RECOVERING, now_s, (Reason.OPERATOR,), POLICY)
            except RefusedMove:
                return here
        case _:
            return here


@EXAMPLES
@given(story=st.lists(st.tuples(seen_parts, orders), max_size=25))
def test_the_epoch_grows_by_one_with_each_change_and_with_nothing_else(
    story: list[tuple[dict[str, object], str]],
) -> None:
    here, now_s = Snapshot(model="m"), T0
    for part, order in story:
        now_s += 60.0 * int(str(part["minutes"]))
        for change in (
            ordered(here, order, now_s),
            None,
        ):
            moved = change if change is not None else next_snapshot(here, seen_of(part, here, now_s), POLICY, now_s)
            if moved is here:
                continue
            assert moved.epoch == here.epoch + 1
            assert moved.transitions[-1].epoch == moved.epoch
            assert moved.watermark >= here.watermark
            here = moved


@EXAMPLES
@given(story=st.lists(seen_parts, max_size=40))
def test_left_to_itself_it_goes_up_to_any_level_and_down_one_step_at_a_time(story: list[dict[str, object]]) -> None:
    here, now_s = Snapshot(model="m"), T0
    for part in story:
        now_s += 60.0 * int(str(part["minutes"]))
        moved = next_snapshot(here, seen_of(part, here, now_s), POLICY, now_s)
        assert moved.level is here.level or (here.level, moved.level) in UP | DOWN
        if (here.level, moved.level) in DOWN:
            assert moved.watermark == now_s, "no window looks behind a step down"
        here = moved


# -- sums --------------------------------------------------------------------------------------------------------


class Wire:
    """A store behind a wire on which a flush may be lost, its answer may be lost, or it may arrive late."""

    def __init__(self, kept: MemoryCounts) -> None:
        self.kept = kept
        self.next = "ok"
        self._late: list[tuple[str, Sequence[MinuteRow], Sequence[FastRow]]] = []

    async def flush(self, boot_id: str, minutes: Sequence[MinuteRow], fast: Sequence[FastRow]) -> Set[str]:
        what, self.next = self.next, "ok"
        if what == "lost":
            raise StoreUnavailable(what)
        if what == "late":
            self._late.append((boot_id, minutes, fast))
            raise StoreUnavailable(what)
        if what == "emptied":
            self.kept.forget_all()
        answer = await self.kept.flush(boot_id, minutes, fast)
        if what == "answer lost":
            raise StoreUnavailable(what)
        late, self._late = self._late, []
        for older in late:  # the server worked through the old connection's buffer after the new one's
            await self.kept.flush(*older)
        return answer

    async def minutes(self, model: str, first: int, last: int) -> Sequence[MinuteRow]:
        return await self.kept.minutes(model, first, last)


actions = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 2]),
        st.sampled_from(["note", "note", "ok", "lost", "answer lost", "late", "emptied", "minute", "again"]),
    ),
    max_size=60,
)


@EXAMPLES
@given(actions=actions)
def test_sums_are_the_truth_whatever_is_lost_repeated_late_or_forgotten(actions: list[tuple[int, str]]) -> None:
    asyncio.run(_sums(actions))


async def _sums(actions: list[tuple[int, str]]) -> None:
    clock, truth = ManualClock(T0), dict[int, int]()
    kept = MemoryCounts(clock)
    writers = [LocalCounters(f"boot{index}") for index in range(3)]
    flushers = [(Wire(kept), counters) for counters in writers]
    sides = [(wire, Flusher(wire, counters), counters) for wire, counters in flushers]  # type: ignore[arg-type]

    async def flush(index: int, what: str = "ok") -> None:
        wire, flusher, _ = sides[index]
        wire.next = what
        try:
            await flusher.flush(clock.now_s())
        except StoreUnavailable:
            return

    for index, action in actions:
        match action:
            case "note":
                note_one(sides[index][2], Outcome.GOOD, clock.now_s())
                minute = int(clock.now_s() // 60)
                truth[minute] = truth.get(minute, 0) + 1
            case "minute":
                clock.tick(60.0)
            case "again":
                sides[index][2].resend()
            case _:
                await flush(index, action)
    # Then the store is well: some flushes of each, and those that come by themselves once a minute has closed.
    for _ in range(3):
        for index in range(3):
            await flush(index)
    clock.tick(60.0 + SETTLE_S)
    for _ in range(3):
        for index in range(3):
            await flush(index)
    found = {row.minute: row.counts.judged for row in await kept.minutes("m", M0, M0 + 70) if row.scope == ""}
    assert found == truth


@EXAMPLES
@given(steps=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 5)), min_size=1, max_size=30))
def test_a_sliding_window_forgets_nothing_at_a_lap(steps: list[tuple[int, int]]) -> None:
    asyncio.run(_laps(steps))


async def _laps(steps: list[tuple[int, int]]) -> None:
    clock, counters, truth = ManualClock(T0), LocalCounters("boot"), dict[int, int]()
    kept = MemoryCounts(clock)
    flusher, history = Flusher(kept, counters), MinuteHistory(kept)
    for minutes, replies in steps:
        clock.tick(60.0 * minutes)
        for _ in range(replies):
            note_one(counters, Outcome.GOOD, clock.now_s())
        here = int(clock.now_s() // 60)
        truth[here] = replies
        await flusher.flush(clock.now_s())
        window = {m: n for m, n in truth.items() if n and here - KEPT_MIN < m <= here}
        assert {row.minute: row.counts.judged for row in (await history.minutes_of(["m"], here))["m"]} == window
        local, _ = counters.local("m")
        assert {row.minute: row.counts.judged for row in local} == window


# -- routes ------------------------------------------------------------------------------------------------------

candidates = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 7.0]), st.integers(0, 2)), min_size=1, max_size=6).map(
    lambda drawn: [RouteCandidate(model=f"m{at}", weight=w, priority=p) for at, (w, p) in enumerate(drawn)]
)


@EXAMPLES
@given(route=candidates, drawn=st.lists(LEVELS, min_size=6, max_size=6))
def test_a_route_has_a_model_in_service_or_phrases_only(route: list[RouteCandidate], drawn: list[Level]) -> None:
    levels = {candidate.model: level for candidate, level in zip(route, drawn, strict=False)}
    part = shares(route, levels)
    assert all(share >= 0.0 for share in part.values())
    if phrase_only(route, levels):
        assert set(part.values()) == {0.0}
    else:
        assert sum(part.values()) == pytest.approx(1.0)
    for candidate in route:
        if levels[candidate.model] in (Level.OPEN, Level.RECOVERING) or candidate.weight == 0:
            assert part[candidate.model] == 0.0


@EXAMPLES
@given(
    moves=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([Level.WARN, Level.REDUCED, Level.OPEN])), max_size=30)
)
def test_a_route_that_keeps_its_last_model_is_never_emptied_by_the_breaker(moves: list[tuple[int, Level]]) -> None:
    route = tuple(f"m{at}" for at in range(4))
    states = {model: Snapshot(model=model) for model in route}
    for at, (which, level) in enumerate(moves):
        here = states[route[which]]
        if (here.level, level) not in UP:
            continue
        moved = enter(here, level, T0 + at, (Reason.STUCK_STREAMS,), POLICY)
        verdict = allowed(states, here, moved, None, (route,), POLICY, T0 + at)
        if verdict.move is not None:
            states[here.model] = replace(verdict.move)
        levels = {model: state.effective for model, state in states.items()}
        assert not phrase_only([RouteCandidate(model=model, weight=1.0) for model in route], levels)

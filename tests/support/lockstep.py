"""Plays a scenario on replicas in lock-step virtual time: the whole path, no pure shortcuts.

Each tick: replies are noted, all flush, orders are obeyed, all evaluate at once (whoever gets the lease decides), all
poll. Nobody goes on before every replica has acknowledged. What must hold of every story is checked on the way: all
replicas know the same documents, and the store's sums are the truth, minute by minute.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from base.faults import Fault
from breaker.conditions import Condition, ConditionKind
from breaker.levels import Level
from breaker.outcome import Outcome
from breaker.policy import BreakerPolicy
from breaker.scenario import PHASE_S, START_S, Command, Fast, Scenario, Spoken, at_s, minute_of
from breaker.snapshot import Transition
from breaker.spans import Spans
from breaker.story import periods
from breaker.triggers.periods import rose
from breaker.window import Counts, MinuteRow

MARK = 0xF1
KEPT_MIN = 130
Order = Mapping[str, Any]


class Fleet(Protocol):
    """Replicas by index, and what they share. Each order carries its moment, `at`."""

    size: int

    async def each(self, orders: Mapping[int, Order]) -> dict[int, Any]:
        """Give each named replica its order, all at once; their answers."""

    async def restart(self, index: int, order: Order) -> None:
        """Kill the replica and start a new one in its place, with `order` as its first."""

    async def store(self, what: str) -> None:
        """`stop_store` or `start_store` (empty)."""

    async def told(self) -> Sequence[Transition]:
        """The transitions kept, in the order they came."""


@dataclass(kw_only=True)
class Played:
    """What the replicas did, in the words of the pure run."""

    told: Sequence[Transition]
    documents: Mapping[str, Mapping[str, Any]]
    conditions: Mapping[str, list[str]]
    overflow: int
    refused: int
    rose: list[bool]
    judged: int


@dataclass(kw_only=True)
class _Stage:
    scenario: Scenario
    fleet: Fleet
    policy: BreakerPolicy
    commands: list[Command]
    truth: dict[str, Counter[int]] = field(default_factory=dict)
    bad: dict[str, Counter[int]] = field(default_factory=dict)
    queues: dict[str, list[str]] = field(default_factory=dict)
    spans: Spans = field(default_factory=Spans)
    stands: Mapping[str, Any] = field(default_factory=dict)
    overflow: int = 0
    refused: int = 0
    rose: list[bool] = field(default_factory=list)

    async def all(self, at: float, **order: Any) -> list[Any]:
        answers = await self.fleet.each({index: {"at": at, **order} for index in range(self.fleet.size)})
        return [answers[index] for index in sorted(answers)]

    async def one(self, index: int, at: float, **order: Any) -> Any:
        return (await self.fleet.each({index: {"at": at, **order}}))[index]


def begin(scenario: Scenario) -> dict[str, Any]:
    """The first order of each replica."""
    return {
        "do": "begin",
        "at": START_S,
        "models": scenario.models,
        "policy": scenario.policy.model_dump(exclude_unset=True),
        "keep_last": scenario.keep_last,
    }


async def play(scenario: Scenario, fleet: Fleet) -> Played:
    """`fleet` has not begun. Raises AssertionError when replicas disagree or a sum is not the truth."""
    await fleet.each({index: begin(scenario) for index in range(fleet.size)})
    policy = BreakerPolicy(**({"cooldown_jitter": 0.0} | scenario.policy.model_dump(exclude_unset=True)))
    commands = sorted(scenario.commands, key=lambda command: command.at_s)
    stage = _Stage(scenario=scenario, fleet=fleet, policy=policy, commands=commands)
    for tick in range(scenario.ticks):
        await _tick(stage, START_S + tick * scenario.tick_s)
    end_s = START_S + (scenario.ticks - 1) * scenario.tick_s + PHASE_S
    await _sums_are_the_truth(stage, end_s)
    return Played(
        told=await fleet.told(),
        documents=stage.stands["documents"],
        conditions=stage.spans.told(),
        overflow=stage.overflow,
        refused=stage.refused,
        rose=stage.rose,
        judged=sum(counts.total() for counts in stage.truth.values()),
    )


async def _tick(stage: _Stage, start_s: float) -> None:
    scenario, now_s = stage.scenario, start_s + PHASE_S
    if (start_s - START_S) % 60 == 0:
        await _talk(stage, start_s)
    for part in sorted(scenario.fast, key=lambda part: part.at_s):
        if start_s <= part.at_s < start_s + scenario.tick_s:
            await _burst(stage, part)
    now_s = max(now_s, *(p.at_s for p in scenario.fast if start_s <= p.at_s < start_s + scenario.tick_s), now_s)
    await stage.all(now_s, do="flush")
    while stage.commands and stage.commands[0].at_s <= now_s:
        await _obey(stage, stage.commands.pop(0), now_s)
    for found in scenario.evidence:
        if now_s - scenario.tick_s < found.at_s <= now_s:
            await _find(stage, found, now_s)
    await _probe(stage, start_s, now_s)
    await stage.all(now_s, do="evaluate")
    answers = await stage.all(now_s, do="poll")
    documents = [answer["documents"] for answer in answers]
    assert all(one == documents[0] for one in documents), f"replicas disagree: {documents}"
    holding = [answer["conditions"] for answer in answers]
    assert all(one == holding[0] for one in holding), f"replicas disagree: {holding}"
    stage.spans.note([Condition(kind=ConditionKind(kind), subject=subject) for kind, subject in holding[0]], now_s)
    stage.stands, stage.overflow = answers[0], sum(answer["overflow"] for answer in answers)
    if (start_s - START_S) % 60 == 0:
        await _compare(stage, minute_of(start_s), now_s)


def _spread(stage: _Stage, times: int, replica: int | None = None) -> list[tuple[int, int]]:
    """How many each replica takes: by turns, or all by one."""
    size = stage.fleet.size
    if replica is not None:
        return [(replica % size, times)] if times else []
    return [(i, part) for i in range(size) if (part := len(range(i, times, size)))]


async def _note(stage: _Stage, at: float, notes: Sequence[tuple[int, dict[str, Any]]]) -> None:
    by_replica: dict[int, list[dict[str, Any]]] = {}
    for index, note in notes:
        by_replica.setdefault(index, []).append(note)
        outcome, times, minute = note["outcome"], note["times"], int(at // 60)
        if outcome in (Outcome.GOOD.value, Outcome.DEGENERATE.value):
            stage.truth.setdefault(note["model"], Counter())[minute] += times
        if outcome == Outcome.DEGENERATE.value:
            stage.bad.setdefault(note["model"], Counter())[minute] += times
    if by_replica:
        await stage.fleet.each({i: {"at": at, "do": "note", "notes": some} for i, some in by_replica.items()})


async def _talk(stage: _Stage, start_s: float) -> None:
    notes = []
    for part in stage.scenario.traffic:
        model = stage.scenario.of(part)
        for said in part.by_minute():
            if said.minute == minute_of(start_s):
                for times, fields in _replies(said):
                    common = {"model": model, "scene": part.scene, **fields}
                    notes += [(i, {**common, "times": t}) for i, t in _spread(stage, times, part.replica)]
    await _note(stage, start_s, notes)


def _replies(said: Spoken) -> Iterator[tuple[int, dict[str, Any]]]:
    """How many replies were noted with which fields of Guard.note."""
    good, asked = {"outcome": Outcome.GOOD.value}, {"structured": True}
    yield said.k, {"outcome": Outcome.DEGENERATE.value}
    yield said.n - said.k - said.empty - said.structured, good
    yield said.empty, {**good, "fault": Fault.EMPTY.value}
    yield said.structured - said.unreadable, {**good, **asked}
    yield said.unreadable, {**good, **asked, "fault": Fault.INVALID_FORMAT.value, "unreadable": True}


async def _burst(stage: _Stage, part: Fast) -> None:
    model = stage.scenario.of(part)
    sessions = part.sessions or ("s",)
    notes: list[tuple[int, dict[str, Any]]] = []

    def add(times: int, outcome: Outcome, **more: Any) -> None:
        common = {"model": model, "scene": "chat", "outcome": outcome.value, **more}
        notes.extend((i, {**common, "times": t}) for i, t in _spread(stage, times))

    for index in range(part.stuck):
        add(1, Outcome.DEGENERATE, stream=True, hard_stop=True, session=sessions[index % len(sessions)])
    for index in range(part.same):
        add(1, Outcome.DEGENERATE, session=sessions[index % len(sessions)], mark=MARK)
    add(part.streams - part.stuck, Outcome.GOOD, stream=True)
    add(part.hard, Outcome.FAILED, fault=Fault.SERVER_ERROR.value)
    add(part.attempts - part.hard, Outcome.GOOD)
    await _note(stage, part.at_s, notes)


async def _obey(stage: _Stage, command: Command, now_s: float) -> None:
    model = stage.scenario.of(command)
    match command.do:
        case "force" if command.mode is not None:
            until = at_s(command.until) if command.until is not None else 0.0
            await stage.one(1, now_s, do="force", model=model, mode=command.mode, until=until, times=command.times)
        case "reset":
            await stage.one(2, now_s, do="reset", model=model)
        case "policy" if command.set is not None:
            changes = command.set.model_dump(exclude_unset=True)
            stage.policy = stage.policy.model_copy(update=changes)
            await stage.all(now_s, do="policy", changes=changes)
        case "propose" if command.level is not None:
            stage.refused += not await stage.one(1, now_s, do="propose", model=model, level=command.level)
        case "skew":
            await stage.one(command.replica or 0, now_s, do="skew", seconds=command.seconds)
        case "restart":
            await stage.fleet.restart(command.replica or 0, {**begin(stage.scenario), "at": now_s})
        case _:
            await stage.fleet.store(command.do)
            return
    await stage.all(now_s, do="poll")


async def _find(stage: _Stage, found: Any, now_s: float) -> None:
    record = {
        "id": found.id,
        "kind": found.kind,
        "model": stage.scenario.of(found),
        "found_at": found.at_s,
        "valid_until": found.at_s + 60.0 * found.valid_min,
        "numbers": found.numbers,
        "scene": found.scene,
    }
    await stage.one(0, now_s, do="found", **record)


async def _probe(stage: _Stage, start_s: float, now_s: float) -> None:
    for probes in stage.scenario.probes:
        if start_s <= at_s(probes.minute) < start_s + stage.scenario.tick_s:
            stage.queues.setdefault(stage.scenario.of(probes), []).extend(probes.results)
    for model, queue in stage.queues.items():
        if not queue:
            continue
        result = queue.pop(0)
        for index in range(stage.fleet.size):
            if await stage.one(index, now_s, do="probe", model=model, result=result):
                break
        else:
            raise AssertionError(f"no replica holds a permit for {model}")


async def _compare(stage: _Stage, minute: int, now_s: float) -> None:
    for part in stage.scenario.compare:
        if part.minute == minute:
            found = set()
            for answer in await stage.all(now_s, do="judged", minutes=KEPT_MIN):
                rows = [_row(*row) for row in answer[stage.scenario.of(part)]]
                current, previous = periods(rows, minute, part.span_min)
                found.add(rose(current, previous, stage.policy.hourly_growth, stage.policy))
            assert len(found) == 1, "replicas disagree"
            stage.rose += found


def _row(minute: int, n: int, k: int) -> MinuteRow:
    return MinuteRow(model="", scope="", minute=minute, counts=Counts(judged=n, sentence_loop=k))


async def _sums_are_the_truth(stage: _Stage, end_s: float) -> None:
    oldest = int(end_s // 60) - KEPT_MIN + 1
    truth = {
        model: [[m, n, stage.bad.get(model, Counter())[m]] for m, n in sorted(counts.items()) if m >= oldest and n]
        for model, counts in stage.truth.items()
    }
    for answer in await stage.all(end_s, do="judged", minutes=KEPT_MIN):
        found = {model: [row for row in rows if row[1]] for model, rows in answer.items()}
        assert {m: rows for m, rows in found.items() if rows} == {m: rows for m, rows in truth.items() if rows}


def up(told: Sequence[Transition]) -> list[Transition]:
    """Moves up, decided or obeyed."""
    return [t for t in told if t.to_level.severity > t.from_level.severity and t.to_level is not Level.RECOVERING]

"""Plays one scenario on the pure machine, on a made-up clock.

In:  a Scenario.  Out: the transitions, a step per minute and model, how it ended.
Pure: no clock, no store, no file.  An engineer tries new lines with it; the tests hold the machine to its stories.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from base.wrong import wrong
from breaker.commands import force, reset
from breaker.conditions import conditions
from breaker.edges import RefusedMove, enter
from breaker.explain import Explanation, explain
from breaker.fleet import Hold, allowed, begun_hold
from breaker.levels import Level, Mode, Reason
from breaker.machine import next_snapshot
from breaker.policy import BreakerPolicy
from breaker.ports import ProbeTally
from breaker.scenario import PHASE_S, START_S, Command, Scenario, at_s, minute_of
from breaker.seen import Seen
from breaker.share import RouteCandidate, shares
from breaker.snapshot import Snapshot, Transition
from breaker.spans import Spans
from breaker.story import evidence_of, fast_rows, minute_rows, periods, route_of
from breaker.triggers.periods import rose
from breaker.window import FastRow, MinuteRow

ROUTE = "route"
LINES = (Reason.RATIO_10M, Reason.RATIO_30M, Reason.ROLLING_15M)


class ScenarioError(ValueError):
    """The scenario cannot be played; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The last tick of one minute. A ratio (0..1) is None where its window has not its minimum sample."""

    minute: int
    ratios: tuple[float | None, float | None, float | None]
    level: Level
    effective: Level
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRun:
    """One model's part of a run."""

    steps: tuple[Step, ...]
    end: Snapshot
    explanation: Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a scenario did. `told` are all its transitions in order; `policy` is the one in force at the end."""

    told: tuple[Transition, ...]
    models: Mapping[str, ModelRun]
    policy: BreakerPolicy
    conditions: Mapping[str, list[str]]
    overflow: int
    refused: int
    rose: tuple[bool, ...]


@dataclass(slots=True, kw_only=True)
class _Stage:
    scenario: Scenario
    policy: BreakerPolicy
    states: dict[str, Snapshot]
    minutes: Mapping[str, Sequence[MinuteRow]]
    buckets: Mapping[str, Sequence[FastRow]]
    route: tuple[RouteCandidate, ...]
    commands: list[Command]
    queues: dict[str, list[str]] = field(default_factory=dict)
    tallies: dict[str, ProbeTally] = field(default_factory=dict)
    hold: Hold | None = None
    told: list[Transition] = field(default_factory=list)
    spans: Spans = field(default_factory=Spans)
    refused: int = 0
    capped: set[tuple[str, float]] = field(default_factory=set)

    def move(self, moved: Snapshot) -> None:
        if moved is not self.states[moved.model]:
            self.told.append(moved.transitions[-1])
            self.states[moved.model] = moved


def run(scenario: Scenario, changes: Mapping[str, Any] | None = None) -> Run:
    """Evaluate `scenario.ticks` times, 3 seconds after each tick.

    `changes` are fields of BreakerPolicy set over the scenario's own. Raises ScenarioError on one that cannot be played.
    """
    if scenario.real_only is not None:
        raise ScenarioError(f"the command {scenario.real_only} needs real replicas; it is played by the tests only")
    stage = _stage(scenario, policy_of(scenario, changes))
    compared: list[bool] = []
    steps = {model: dict[int, Step]() for model in scenario.models}
    explained: dict[str, Explanation] = {}
    for tick in range(scenario.ticks):
        now_s = START_S + tick * scenario.tick_s + PHASE_S
        explained = _tick(stage, now_s)
        levels = {model: here.effective for model, here in stage.states.items()}
        part = shares(stage.route, levels, reduced_share=stage.policy.reduced_share)
        for model, explanation in explained.items():
            steps[model][minute_of(now_s)] = _step(minute_of(now_s), explanation, part[model])
        if tick % (60 // scenario.tick_s) == 0:
            compared += _compared(stage, minute_of(now_s))
    return Run(
        told=tuple(stage.told),
        models={
            model: ModelRun(steps=tuple(steps[model].values()), end=stage.states[model], explanation=explained[model])
            for model in scenario.models
        },
        policy=stage.policy,
        conditions=stage.spans.told(),
        overflow=len(stage.capped),
        refused=stage.refused,
        rose=tuple(compared),
    )


def policy_of(scenario: Scenario, changes: Mapping[str, Any] | None = None) -> BreakerPolicy:
    """The scenario's policy with `changes` over it. Raises ScenarioError, which names the fields."""
    try:
        return BreakerPolicy(**(scenario.changed_policy | dict(changes or {})))
    except ValidationError as error:
        found = (f"{'.'.join(map(str, e['loc'])) or 'policy'}: {wrong(e)}" for e in error.errors(include_url=False))
        raise ScenarioError("; ".join(found)) from error


def _stage(scenario: Scenario, policy: BreakerPolicy) -> _Stage:
    return _Stage(
        scenario=scenario,
        policy=policy,
        states={model: Snapshot(model=model) for model in scenario.models},
        minutes={model: tuple(minute_rows(scenario, model)) for model in scenario.models},
        buckets={model: tuple(fast_rows(scenario, model)) for model in scenario.models},
        route=route_of(scenario),
        commands=sorted(scenario.commands, key=lambda command: command.at_s),
    )


def _tick(stage: _Stage, now_s: float) -> dict[str, Explanation]:
    while stage.commands and stage.commands[0].at_s <= now_s:
        _obey(stage.commands.pop(0), stage, now_s)
    for probes in stage.scenario.probes:
        model = stage.scenario.of(probes)
        if probes.when_asked and stage.states[model].level is not Level.RECOVERING:
            stage.queues.pop(model, None)
        elif probes.minute == minute_of(now_s) and now_s - at_s(probes.minute) < stage.scenario.tick_s:
            stage.queues.setdefault(model, []).extend(probes.results)
    seen = {model: _seen(stage, model, now_s) for model in stage.states}
    policy = stage.policy
    asked = [(here, next_snapshot(here, seen[model], policy, now_s)) for model, here in stage.states.items()]
    proposed = [(here, moved) for here, moved in asked if moved is not here]
    stage.hold = begun_hold(stage.states, proposed, stage.hold, policy, now_s) or stage.hold
    for here, moved in proposed:
        verdict = allowed(stage.states, here, moved, stage.hold, stage.scenario.keep_last, policy, now_s)
        stage.capped |= {(here.model, here.watermark)} if verdict.capped else set()
        if verdict.move is not None:
            stage.move(verdict.move)
    levels = {model: here.effective for model, here in stage.states.items()}
    stage.spans.note(conditions(stage.states, levels, {ROUTE: stage.route}, stage.hold, None, now_s), now_s)
    return {model: explain(here, seen[model], policy, now_s) for model, here in stage.states.items()}


def _seen(stage: _Stage, model: str, now_s: float) -> Seen:
    return Seen(
        minutes=[row for row in stage.minutes[model] if row.minute * 60 <= now_s],
        fast=[row for row in stage.buckets[model] if row.bucket * 5 <= now_s],
        probes=_probe(stage, model, now_s),
        evidence=[
            evidence_of(stage.scenario, found)
            for found in stage.scenario.evidence
            if stage.scenario.of(found) == model and found.at_s <= now_s
        ],
    )


def _probe(stage: _Stage, model: str, now_s: float) -> ProbeTally:
    """The next queued result is in. A result carries the epoch it was admitted under; a refused one is none."""
    here, queue = stage.states[model], stage.queues.get(model)
    kept = stage.tallies.get(model, ProbeTally(epoch=here.epoch, granted=0))
    if kept.epoch != here.epoch:
        kept = ProbeTally(epoch=here.epoch, granted=0)
    if queue:
        if here.level is not Level.RECOVERING:
            raise ScenarioError(f"minute {minute_of(now_s)}: a probe of {model}, which is {here.level}, not recovering")
        result = queue.pop(0)
        results = kept.results if result == "q" else (*kept.results, result == "c")
        kept = ProbeTally(epoch=here.epoch, granted=len(results), results=results)
    stage.tallies[model] = kept
    return kept


def _step(minute: int, explanation: Explanation, share: float) -> Step:
    here = explanation.snapshot
    readings = {reading.reason: reading for reading in explanation.rules}
    first, second, third = (
        reading.value if (reading := readings.get(reason)) is not None and reading.n >= reading.minimum else None
        for reason in LINES
    )
    return Step(
        minute=minute,
        ratios=(first, second, third),
        level=here.level,
        effective=here.effective,
        share=share,
    )


def _obey(command: Command, stage: _Stage, now_s: float) -> None:
    here = stage.states[stage.scenario.of(command)]
    try:
        match command.do:
            case "force":
                until = at_s(command.until) if command.until is not None else 0.0
                for _ in range(command.times):
                    here = stage.states[here.model]
                    stage.move(force(here, command.mode or Mode.AUTO, "op", "scenario", until, now_s, stage.policy))
            case "reset":
                stage.move(reset(here, "op", "scenario", now_s))
            case "propose":
                stage.move(enter(here, command.level or Level.HEALTHY, now_s, (Reason.OPERATOR,), stage.policy))
            case _ if command.set is not None:
                stage.policy = stage.policy.model_copy(update=command.set.model_dump(exclude_unset=True))
    except RefusedMove:
        stage.refused += 1


def _compared(stage: _Stage, minute: int) -> Iterator[bool]:
    for part in stage.scenario.compare:
        if part.minute == minute:
            rows = stage.minutes[stage.scenario.of(part)]
            current, previous = periods(rows, minute, part.span_min)
            yield rose(current, previous, stage.policy.hourly_growth, stage.policy)

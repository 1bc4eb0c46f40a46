"""Plays one scenario (a story of one model's traffic) on the pure machine, on a made-up clock.

In:  a scenario as read from its YAML file (format: docs/scenarios.md).  Out: the transitions, a step per minute, the end.
Pure: no clock, no store, no file.  An engineer tries new lines with it; the tests hold the machine to its stories.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from breaker.commands import force, reset
from breaker.explain import Explanation, explain
from breaker.levels import Level, Mode, Reason
from breaker.machine import next_snapshot
from breaker.policy import BreakerPolicy
from breaker.ports import ProbeTally
from breaker.seen import Seen
from breaker.share import RouteCandidate, shares
from breaker.snapshot import Snapshot, Transition
from breaker.window import Counts, FastRow, MinuteRow

START_S = 1_700_000_040.0  # a whole minute
TICK_S = 15.0
PHASE_S = 3.0
MODEL = "m"
# The shown share is that of a route with one other, healthy model of the same weight.
ROUTE = (RouteCandidate(model=MODEL, weight=1.0), RouteCandidate(model="other", weight=1.0))
LINES = (Reason.RATIO_10M, Reason.RATIO_30M, Reason.ROLLING_15M)
PARTS = frozenset({"row", "title", "until", "policy", "traffic", "fast", "probes", "commands", "expect", "end"})


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
class Run:
    """What a scenario did. `told` are all its transitions in order; `policy` is the one in force at the end."""

    told: tuple[Transition, ...]
    steps: tuple[Step, ...]
    end: Snapshot
    explanation: Explanation
    policy: BreakerPolicy


@dataclass(slots=True, kw_only=True)
class _Stage:
    here: Snapshot
    policy: BreakerPolicy
    told: list[Transition] = field(default_factory=list)
    queue: list[str] = field(default_factory=list)
    results: tuple[int, tuple[bool, ...]] = (0, ())

    def move(self, moved: Snapshot) -> None:
        self.told += moved.transitions[-1:] if moved is not self.here else ()
        self.here = moved

    def probe(self) -> ProbeTally:
        """The next queued result is in. A result carries the epoch it was admitted under."""
        if self.queue:
            earlier = self.results[1] if self.results[0] == self.here.epoch else ()
            self.results = (self.here.epoch, (*earlier, self.queue.pop(0) == "c"))
        epoch, results = self.results
        return ProbeTally(epoch=epoch, granted=len(results), results=results)


def run(scenario: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Run:
    """Tick every 15 seconds, 3 seconds after the full quarter, until the minute `until`.

    `changes` are fields of BreakerPolicy set over the scenario's own. Raises ScenarioError on a scenario that is none.
    """
    try:
        unknown = sorted(set(scenario) - PARTS)
        if unknown:
            raise ScenarioError(f"unknown part {', '.join(unknown)}")
        return _play(scenario, BreakerPolicy(**(scenario.get("policy", {}) | (changes or {}))))
    except ScenarioError:
        raise
    except KeyError as error:
        raise ScenarioError(f"{error.args[0]} is missing") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ScenarioError(str(error)) from error


def _play(scenario: Mapping[str, Any], policy: BreakerPolicy) -> Run:
    stage = _Stage(here=Snapshot(model=MODEL), policy=policy)
    minutes, fast = list(minute_rows(scenario)), list(fast_rows(scenario))
    commands = sorted(scenario.get("commands", []), key=moment)
    probes = {p["minute"]: list(p["results"]) for p in scenario.get("probes", [])}
    steps: dict[int, Step] = {}
    seen, now_s, explanation = Seen(), START_S, None
    for tick in range(int(scenario["until"] * 60 / TICK_S) + 1):
        now_s = START_S + tick * TICK_S + PHASE_S
        minute = int((now_s - START_S) // 60)
        while commands and moment(commands[0]) <= now_s:
            _obey(commands.pop(0), stage, now_s)
        stage.queue += probes.pop(minute, [])
        seen = Seen(
            minutes=[row for row in minutes if row.minute * 60 <= now_s],
            fast=[row for row in fast if row.bucket * 5 <= now_s],
            probes=stage.probe(),
        )
        stage.move(next_snapshot(stage.here, seen, stage.policy, now_s, 0.0))
        explanation = explain(stage.here, seen, stage.policy, now_s)
        steps[minute] = _step(minute, explanation)
    if explanation is None:
        raise ScenarioError("until must not be negative")
    return Run(
        told=tuple(stage.told),
        steps=tuple(steps.values()),
        end=stage.here,
        explanation=explanation,
        policy=stage.policy,
    )


def _step(minute: int, explanation: Explanation) -> Step:
    here = explanation.snapshot
    readings = {rule.reading.reason: rule.reading for rule in explanation.rules}
    first, second, third = (
        reading.value if (reading := readings.get(reason)) is not None and reading.n >= reading.minimum else None
        for reason in LINES
    )
    return Step(
        minute=minute,
        ratios=(first, second, third),
        level=here.level,
        effective=here.effective,
        share=shares(ROUTE, {MODEL: here.effective})[MODEL],
    )


def _obey(command: Mapping[str, Any], stage: _Stage, now_s: float) -> None:
    match command["do"]:
        case "force":
            until = at_s(command["until"]) if "until" in command else 0.0
            stage.move(force(stage.here, Mode(command["mode"]), "op", "scenario", until, now_s, stage.policy))
        case "reset":
            stage.move(reset(stage.here, "op", "scenario", now_s))
        case "policy":
            stage.policy = stage.policy.model_copy(update=command["set"])
        case other:
            raise ScenarioError(f"unknown command {other}")


def at_s(minute: float, second: float = 0.0) -> float:
    """Seconds since the epoch of a moment of the scenario."""
    return START_S + 60.0 * minute + second


def moment(part: Mapping[str, Any]) -> float:
    """When a command or a fast bucket of the scenario is due, in seconds since the epoch."""
    return at_s(part["minute"], part.get("second", 0))


def minute_rows(scenario: Mapping[str, Any]) -> Iterator[MinuteRow]:
    """The scenario's `traffic` as closed minutes of the whole model."""
    base = int(START_S // 60)
    for part in scenario.get("traffic", []):
        if "n" not in part:
            continue
        first, last = span(part["minutes"])
        for index, minute in enumerate(range(first, last + 1)):
            n, k = (cycled(part.get(name, 0), index) for name in ("n", "k"))
            yield MinuteRow(model=MODEL, scope="", minute=base + minute, counts=Counts(judged=n, sentence_loop=k))


def fast_rows(scenario: Mapping[str, Any]) -> Iterator[FastRow]:
    """The scenario's `fast` parts as 5-second buckets."""
    for part in scenario.get("fast", []):
        sessions = tuple(part.get("sessions", ()))
        mark = {"f1": part["same"]} if "same" in part else {}
        yield FastRow(
            model=MODEL,
            bucket=int(moment(part) // 5),
            attempts=part.get("attempts", 0),
            hard=part.get("hard", 0),
            streams=part.get("streams", 0),
            stuck=part.get("stuck", 0),
            stuck_sessions=sessions,
            loops=mark,
            loop_sessions=dict.fromkeys(mark, sessions),
        )


def told_plainly(told: Sequence[Transition]) -> list[dict[str, Any]]:
    """Transitions in the words of a scenario file's `expect`."""
    return [
        {
            "minute": int((t.at - START_S) // 60),
            "from": t.from_level.value,
            "to": t.to_level.value,
            "reasons": [reason.value for reason in t.reasons],
            **({} if t.enforced else {"enforced": False}),
        }
        for t in told
    ]


def span(text: str | int) -> tuple[int, int]:
    """First and last minute of `3` or `3-9`."""
    first, _, last = str(text).partition("-")
    return int(first), int(last or first)


def cycled(value: int | list[int], index: int) -> int:
    """The value, or the one whose turn it is if there are several."""
    return value[index % len(value)] if isinstance(value, list) else value

"""Runs one scenario file against the pure machine, minute by minute, on a made-up clock.

In:  tests/scenarios/*.yaml (format: tests/scenarios/README.md).  Out: the transitions that happened, and the end.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from breaker.explain import Explanation, explain
from breaker.levels import Mode
from breaker.machine import force, next_snapshot, reset
from breaker.policy import BreakerPolicy
from breaker.ports import ProbeTally
from breaker.seen import Seen
from breaker.snapshot import Snapshot, Transition
from breaker.window import Counts, FastRow, MinuteRow

HERE = Path(__file__).parent.parent / "scenarios"
START_S = 1_700_000_040.0  # a whole minute
TICK_S = 15.0
PHASE_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a scenario did. `told` are all its transitions in order."""

    told: tuple[Transition, ...]
    end: Snapshot
    explanation: Explanation


def load(path: Path) -> Mapping[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def at_s(minute: float, second: float = 0.0) -> float:
    return START_S + 60.0 * minute + second


def run(scenario: Mapping[str, Any]) -> Run:
    """Tick every 15 seconds, 3 seconds after the full quarter, until the minute `until`."""
    policy = BreakerPolicy(**scenario.get("policy", {}))
    here = Snapshot(model="m")
    told: list[Transition] = []
    minutes, fast = list(minute_rows(scenario)), list(fast_rows(scenario))
    commands = sorted(scenario.get("commands", []), key=lambda c: at_s(c["minute"], c.get("second", 0)))
    probes = {p["minute"]: list(p["results"]) for p in scenario.get("probes", [])}
    queue: list[str] = []
    results: tuple[int, tuple[bool, ...]] = (0, ())
    seen, now_s = Seen(), START_S
    for tick in range(int(scenario["until"] * 60 / TICK_S) + 1):
        now_s = START_S + tick * TICK_S + PHASE_S
        minute = int((now_s - START_S) // 60)
        while commands and at_s(commands[0]["minute"], commands[0].get("second", 0)) <= now_s:
            moved, policy = obey(commands.pop(0), here, policy, now_s)
            told += moved.transitions[-1:] if moved is not here else ()
            here = moved
        queue += probes.pop(minute, [])
        if queue:
            # A result carries the epoch it was admitted under.
            earlier = results[1] if results[0] == here.epoch else ()
            results = (here.epoch, (*earlier, queue.pop(0) == "c"))
        seen = Seen(
            minutes=[row for row in minutes if row.minute * 60 <= now_s],
            fast=[row for row in fast if row.bucket * 5 <= now_s],
            probes=ProbeTally(epoch=results[0], granted=len(results[1]), results=results[1]),
        )
        moved = next_snapshot(here, seen, policy, now_s, 0.0)
        told += moved.transitions[-1:] if moved is not here else ()
        here = moved
    return Run(told=tuple(told), end=here, explanation=explain(here, seen, policy, now_s))


def obey(
    command: Mapping[str, Any], here: Snapshot, policy: BreakerPolicy, now_s: float
) -> tuple[Snapshot, BreakerPolicy]:
    match command["do"]:
        case "force":
            until = at_s(command["until"]) if "until" in command else 0.0
            return force(here, Mode(command["mode"]), "op", "scenario", until, now_s, policy), policy
        case "reset":
            return reset(here, "op", "scenario", now_s), policy
        case "policy":
            return here, policy.model_copy(update=command["set"])
        case other:
            raise ValueError(f"unknown command {other}")


def minute_rows(scenario: Mapping[str, Any]) -> Iterator[MinuteRow]:
    base = int(START_S // 60)
    for part in scenario.get("traffic", []):
        if "n" not in part:
            continue
        first, last = span(part["minutes"])
        for index, minute in enumerate(range(first, last + 1)):
            n, k = (cycled(part.get(name, 0), index) for name in ("n", "k"))
            yield MinuteRow(model="m", scope="", minute=base + minute, counts=Counts(judged=n, sentence_loop=k))


def fast_rows(scenario: Mapping[str, Any]) -> Iterator[FastRow]:
    for part in scenario.get("fast", []):
        sessions = tuple(part.get("sessions", ()))
        mark = {"f1": part["same"]} if "same" in part else {}
        yield FastRow(
            model="m",
            bucket=int(at_s(part["minute"], part.get("second", 0)) // 5),
            attempts=part.get("attempts", 0),
            hard=part.get("hard", 0),
            streams=part.get("streams", 0),
            stuck=part.get("stuck", 0),
            stuck_sessions=sessions,
            loops=mark,
            loop_sessions=dict.fromkeys(mark, sessions),
        )


def span(text: str | int) -> tuple[int, int]:
    first, _, last = str(text).partition("-")
    return int(first), int(last or first)


def cycled(value: int | list[int], index: int) -> int:
    return value[index % len(value)] if isinstance(value, list) else value

"""Runs a scenario file on three replicas over one store, in lock-step virtual time: the whole path, no pure shortcuts.

Every reply is noted on some replica, flushed, summed by the store, evaluated by whoever holds the lease and adopted by all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from base.faults import Fault
from breaker.guard import Guard
from breaker.levels import Mode
from breaker.outcome import Outcome
from breaker.policy import BreakerPolicy
from breaker.ports import CountStore, Lease, ProbeStore, StateStore
from breaker.simulation import PHASE_S, START_S, TICK_S, at_s, cycled, span
from breaker.snapshot import Snapshot, Transition
from store.memory import MemoryTransitions
from tests.support.clock import ManualClock


@dataclass(frozen=True, kw_only=True)
class Stores:
    counts: CountStore
    states: StateStore
    probes: ProbeStore
    lease: Lease


@dataclass(kw_only=True)
class Replicas:
    """`told` are the transitions by epoch; each is kept once, whoever won."""

    guards: list[Guard]
    clock: ManualClock
    log: MemoryTransitions
    queue: list[str] = field(default_factory=list)

    @property
    def told(self) -> list[Transition]:
        return self.log.rows

    @property
    def documents(self) -> list[Snapshot]:
        return [guard.snapshot("m") for guard in self.guards]


def three(scenario: Mapping[str, Any], stores: Stores, clock: ManualClock) -> Replicas:
    policy = BreakerPolicy(**({"cooldown_jitter": 0.0} | scenario.get("policy", {})))
    log = MemoryTransitions()
    guards = [
        Guard(
            ("m",),
            policy,
            stores.counts,
            stores.states,
            stores.probes,
            stores.lease,
            log,
            clock,
            Random(index),
            f"boot{index}",
            clock.now_s,
        )
        for index in range(3)
    ]
    return Replicas(guards=guards, clock=clock, log=log)


async def run(scenario: Mapping[str, Any], stores: Stores, clock: ManualClock) -> Replicas:
    """`clock` stands at START_S. Each tick one replica after another flushes, evaluates and polls."""
    fleet = three(scenario, stores, clock)
    commands = sorted(scenario.get("commands", []), key=lambda c: at_s(c["minute"], c.get("second", 0)))
    probes = {p["minute"]: list(p["results"]) for p in scenario.get("probes", [])}
    replies = _by_minute(scenario)
    for tick in range(int(scenario["until"] * 60 / TICK_S) + 1):
        start_s = START_S + tick * TICK_S
        minute = int((start_s - START_S) // 60)
        clock.tick(max(0.0, start_s - clock.now_s()))
        for n, k in replies.pop(minute, []):
            _talk(fleet, n, k)
        for part in scenario.get("fast", []):
            if start_s <= at_s(part["minute"], part.get("second", 0)) < start_s + TICK_S:
                clock.tick(max(0.0, at_s(part["minute"], part.get("second", 0)) - clock.now_s()))
                _burst(fleet, part)
        clock.tick(max(0.0, start_s + PHASE_S - clock.now_s()))
        while commands and at_s(commands[0]["minute"], commands[0].get("second", 0)) <= clock.now_s():
            await _obey(fleet, commands.pop(0))
        fleet.queue += probes.pop(minute, [])
        if fleet.queue:
            await _probe(fleet, fleet.queue.pop(0) == "c")
        await _turn(fleet, tick)
    return fleet


async def _turn(fleet: Replicas, tick: int) -> None:
    for guard in fleet.guards:
        await guard.flush()
    first = tick % len(fleet.guards)
    for guard in fleet.guards[first:] + fleet.guards[:first]:
        await guard.evaluate()
    for guard in fleet.guards:
        await guard.poll()
        await guard.lease_permits()


def _by_minute(scenario: Mapping[str, Any]) -> dict[int, list[tuple[int, int]]]:
    out: dict[int, list[tuple[int, int]]] = {}
    for part in scenario.get("traffic", []):
        first, last = span(part["minutes"])
        for index, minute in enumerate(range(first, last + 1)):
            out.setdefault(minute, []).append((cycled(part.get("n", 0), index), cycled(part.get("k", 0), index)))
    return out


def _note(fleet: Replicas, index: int, outcome: Outcome, **more: Any) -> None:
    fleet.guards[index % 3].note(model="m", scene="chat", endpoint=0, outcome=outcome, **more)


def _talk(fleet: Replicas, n: int, k: int) -> None:
    for index in range(n):
        _note(fleet, index, Outcome.DEGENERATE if index < k else Outcome.GOOD)


def _burst(fleet: Replicas, part: Mapping[str, Any]) -> None:
    stuck, hard, sessions = part.get("stuck", 0), part.get("hard", 0), part.get("sessions", ["s"])
    for index in range(stuck):
        session = sessions[index % len(sessions)]
        _note(fleet, index, Outcome.DEGENERATE, stream=True, hard_stop=True, session=session)
    for index in range(part.get("streams", 0) - stuck):
        _note(fleet, index, Outcome.GOOD, stream=True)
    for index in range(hard):
        _note(fleet, index, Outcome.FAILED, fault=Fault.SERVER_ERROR)
    for index in range(part.get("attempts", 0) - hard):
        _note(fleet, index, Outcome.GOOD)


async def _obey(fleet: Replicas, command: Mapping[str, Any]) -> None:
    match command["do"]:
        case "force":
            until = at_s(command["until"]) if "until" in command else 0.0
            await fleet.guards[1].force("m", Mode(command["mode"]), "op", "scenario", until)
        case "reset":
            await fleet.guards[2].reset("m", "op", "scenario")
        case "policy":
            for guard in fleet.guards:
                guard.policy = guard.policy.model_copy(update=command["set"])
    for guard in fleet.guards:
        await guard.poll()


async def _probe(fleet: Replicas, clean: bool) -> None:
    for guard in fleet.guards:
        await guard.lease_permits()  # once a second in life: leases of the last tick may have ended
        with guard.permit("m") as permit:
            if permit is not None:
                permit.settle(clean)
                break
    else:
        raise AssertionError("no replica holds a permit")
    await guard.settle_permits()

"""What the gates did is counted by model."""

from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from base.faults import Fault
from detector import GateMode
from detector.verdict import Health, LoopClass, Verdict
from router.gate_metrics import GateMetrics
from tests.support.router_world import Says, World, looped
from upstream.attempt import Attempt


def counted(**what: Any) -> dict[str, float]:
    registry = CollectorRegistry()
    GateMetrics(registry).attempt("a", Attempt(started_at=0.0, elapsed_s=0.1, **what))
    return told(registry)


def told(registry: CollectorRegistry) -> dict[str, float]:
    samples = [s for family in registry.collect() for s in family.samples if s.name.endswith("_total")]
    return {s.name.removeprefix("pointsman_").removesuffix("_total"): s.value for s in samples if s.value}


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        pytest.param({"guarded": True}, {"guarded_replies": 1}, id="a healthy reply"),
        pytest.param({}, {}, id="one that passed as it came"),
        pytest.param(
            {"guarded": True, "trips": 2, "recoveries": 2, "suppressed_chars": 300},
            {
                "guarded_replies": 1,
                "gate_trips": 2,
                "gate_recoveries": 2,
                "suppressed_chars": 300,
                "cleaned_replies": 1,
            },
            id="looped twice, came back and was handed on",
        ),
        pytest.param(
            {"trips": 2, "recoveries": 1, "suppressed_chars": 300, "fault": Fault.REPETITION},
            {"gate_trips": 2, "gate_recoveries": 1, "suppressed_chars": 300},
            id="came back once and looped again",
        ),
        pytest.param(
            {"trips": 1, "hard_stop": True, "stopped": GateMode.CUT}, {"gate_trips": 1, "hard_stops": 1}, id="stuck"
        ),
        pytest.param({"held_chars": 40, "hold_s": 0.5}, {"held_chars": 40, "hold_seconds": 0.5}, id="held"),
        pytest.param({"guarded": True, "detector_errors": 1}, {"guarded_replies": 1, "detector_errors": 1}, id="error"),
    ],
)
def test_each_thing_is_counted_once(attempt: dict[str, Any], told: dict[str, float]) -> None:
    assert counted(**attempt) == told


def test_a_hard_stop_names_the_mode_it_was_made_in() -> None:
    registry = CollectorRegistry()
    stuck = Attempt(started_at=0.0, elapsed_s=0.1, hard_stop=True, stopped=GateMode.RETRY)
    GateMetrics(registry).attempt("a", stuck)
    assert registry.get_sample_value("pointsman_hard_stops_total", {"model": "a", "mode": "retry"}) == 1


async def test_retries_after_loops_are_counted_and_those_that_were_in_vain() -> None:
    world = World({"a": [looped()], "a2": [looped()], "b": [Says()]})
    await world.ask()
    retries = world.deps.metrics.registry.get_sample_value
    assert [retries("pointsman_loop_retries_total", {"model": m}) for m in ("a", "b", "c")] == [1, 1, None]
    assert retries("pointsman_loop_retries_exhausted_total", {"route": "main"}) is None
    in_vain = World({name: [looped()] for name in ("a", "a2", "b", "c")})
    await in_vain.ask()
    assert told(in_vain.deps.metrics.registry)["loop_retries_exhausted"] == 1


async def test_a_splice_is_no_retry() -> None:
    world = World({"a": [looped(pieces=["The train leaves ", "at nine "])], "a2": [Says(pieces=["and arrives."])]})
    assert (await world.ask(stream=True)).status_code == 200
    assert "loop_retries" not in told(world.deps.metrics.registry)


async def test_a_first_restatement_counts_against_nobody_and_can_be_seen() -> None:
    said = Verdict(health=Health.DEGENERATE, loop_class=LoopClass.RESTATEMENT)
    world = World()
    complete = world.models.complete

    async def restating(*asked: Any) -> Attempt:
        return replace(await complete(*asked), verdict=said)

    world.models.complete = restating  # type: ignore[method-assign]
    await world.ask()
    assert world.guard.outcomes == ["a:good"]
    assert told(world.deps.metrics.registry)["first_restatements"] == 1

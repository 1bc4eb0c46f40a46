"""Compares what replicas did with a scenario's end."""

from breaker.scenario import Scenario
from breaker.story import as_expected, told_plainly
from tests.support.lockstep import Played, up

NOT_REPLICAS = {"unknown", "probes_wanted"}
"""Told by the evaluator's explanation alone; the pure run holds them."""


def same_story(scenario: Scenario, played: Played) -> None:
    """Raises AssertionError with the difference."""
    assert told_plainly(scenario, played.told) == as_expected(scenario)
    assert sum(here["epoch"] for here in played.documents.values()) == len(played.told)
    here = played.documents[scenario.models[0]]
    end = {
        **{name: here[name] for name in ("level", "mode", "open_count", "would_be")},
        "levels": {model: one["level"] for model, one in played.documents.items()},
        "judged": played.judged,
        "told": played.conditions,
        "overflow": played.overflow,
        "refused": played.refused,
        "rose": played.rose,
        "detected": len(up(played.told)),
        "enforced": sum(t.enforced for t in up(played.told)),
    }
    wanted = {k: v for k, v in scenario.end.model_dump(exclude_unset=True).items() if k not in NOT_REPLICAS}
    assert {name: end[name] for name in wanted} == wanted

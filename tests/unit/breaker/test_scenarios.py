"""Every scenario file that has a pure form, told by the pure machine alone."""

from pathlib import Path

import pytest

from breaker import simulation
from breaker.levels import Level
from breaker.simulation import Run
from breaker.story import as_expected, told_plainly
from tests.support import scenarios

PURE = [path for path in scenarios.files() if scenarios.load(path).real_only is None]


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.stem)
def test_the_machine_tells_the_story_of(path: Path) -> None:
    scenario = scenarios.load(path)

    played = simulation.run(scenario)

    assert told_plainly(scenario, played.told) == as_expected(scenario)
    wanted = scenario.end.model_dump(exclude_unset=True)
    assert {name: value for name, value in _end(played, scenario.models[0]).items() if name in wanted} == {
        name: value for name, value in wanted.items() if name != "judged"
    }
    assert sum(here.end.epoch for here in played.models.values()) == len(played.told)


def _end(played: Run, first: str) -> dict[str, object]:
    here = played.models[first]
    up = [t for t in played.told if t.to_level.severity > t.from_level.severity and t.to_level is not Level.RECOVERING]
    return {
        "level": here.end.level,
        "mode": here.end.mode,
        "open_count": here.end.open_count,
        "would_be": here.end.would_be,
        "unknown": here.explanation.unknown,
        "probes_wanted": here.explanation.probes_wanted,
        "levels": {model: run.end.level for model, run in played.models.items()},
        "told": played.conditions,
        "overflow": played.overflow,
        "refused": played.refused,
        "rose": list(played.rose),
        "detected": len(up),
        "enforced": sum(t.enforced for t in up),
    }


def test_there_are_scenarios() -> None:
    assert len(PURE) >= 20

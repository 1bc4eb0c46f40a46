"""Every scenario file, told by the pure machine alone."""

from pathlib import Path

import pytest

from breaker import simulation
from tests.support import scenarios

FILES = sorted(scenarios.HERE.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_machine_tells_the_story_of(path: Path) -> None:
    scenario = scenarios.load(path)

    run = simulation.run(scenario)

    told = simulation.told_plainly(run.told)
    assert told == scenario["expect"]
    end = {
        "level": run.end.level.value,
        "mode": run.end.mode.value,
        "open_count": run.end.open_count,
        "would_be": run.end.would_be.value if run.end.would_be else None,
        "unknown": run.explanation.unknown,
        "probes_wanted": run.explanation.probes_wanted,
    }
    assert {name: end[name] for name in scenario["end"]} == scenario["end"]
    assert run.end.epoch == len(told)


def test_there_are_scenarios() -> None:
    assert len(FILES) >= 20

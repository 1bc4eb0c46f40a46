"""Every scenario file, told by the pure machine alone."""

from pathlib import Path

import pytest

from tests.support import scenarios

FILES = sorted(scenarios.HERE.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_machine_tells_the_story_of(path: Path) -> None:
    scenario = scenarios.load(path)

    run = scenarios.run(scenario)

    told = [
        {
            "minute": int((t.at - scenarios.START_S) // 60),
            "from": t.from_level.value,
            "to": t.to_level.value,
            "reasons": [reason.value for reason in t.reasons],
            **({} if t.enforced else {"enforced": False}),
        }
        for t in run.told
    ]
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

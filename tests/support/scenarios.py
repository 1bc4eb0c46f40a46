"""Where the scenario files lie, and how one is read."""

from pathlib import Path

from breaker.scenario import Scenario
from pointsman.cli.simulate import read_scenario

HERE = Path(__file__).parent.parent / "scenarios"


def files() -> list[Path]:
    return sorted(HERE.glob("*.yaml"))


def load(path: Path) -> Scenario:
    return read_scenario(path)

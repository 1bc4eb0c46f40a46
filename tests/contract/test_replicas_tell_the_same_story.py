"""The breaker's scenario files on three replicas over memory: the transitions are those of the pure machine."""

from pathlib import Path

import pytest

from tests.support import scenarios
from tests.support.fleets import InProcess
from tests.support.lockstep import play
from tests.support.told import same_story

FILES = [path for path in scenarios.files() if scenarios.load(path).real_only is None]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_three_replicas_over_memory_tell_the_story_of(path: Path) -> None:
    scenario = scenarios.load(path)
    same_story(scenario, await play(scenario, InProcess()))

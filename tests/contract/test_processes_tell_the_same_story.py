"""Every scenario file by four real processes on one real Valkey, in lock-step virtual time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from redis import Redis

from store.migrate import upgrade
from tests.support import scenarios
from tests.support.fleets import Processes, fresh_sql
from tests.support.lockstep import play
from tests.support.told import same_story
from tests.support.valkey import start_valkey

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def four(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Processes, Path]]:
    template = tmp_path_factory.mktemp("template") / "fleet.db"
    await upgrade(f"sqlite:///{template}")
    with start_valkey() as server:
        fleet = Processes(server, "")
        await fleet.start()
        yield fleet, template
        await fleet.close()


@pytest.mark.parametrize("path", scenarios.files(), ids=lambda path: path.stem)
async def test_four_processes_tell_the_story_of(path: Path, four: tuple[Processes, Path], tmp_path: Path) -> None:
    fleet, template = four
    fleet.sql_url = fresh_sql(template, tmp_path)
    await asyncio.to_thread(_empty, fleet.valkey.url)
    scenario = scenarios.load(path)

    same_story(scenario, await play(scenario, fleet))


def _empty(url: str) -> None:
    with Redis.from_url(url) as client:
        client.flushall()

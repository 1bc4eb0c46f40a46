"""Rows 6, 7, 23 and 40 of the breaker's scenario table: four real processes on one real server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from redis import Redis

from breaker.scenario import START_S
from store.migrate import upgrade
from store.sql_link import open_engine
from store.sql_notices import SqlNotices
from store.sql_transitions import SqlTransitions
from tests.support.fleets import Processes
from tests.support.valkey import start_valkey

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
MINUTE_S = 60.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Processes]:
    sql_url = f"sqlite:///{tmp_path_factory.mktemp('fleet') / 'fleet.db'}"
    await upgrade(sql_url)
    with start_valkey() as server:
        four = Processes(server, sql_url)
        await four.start()
        yield four
        await four.close()


async def begun(fleet: Processes, *, alone: bool = False) -> None:
    with Redis.from_url(fleet.valkey.url) as client:
        await asyncio.to_thread(client.flushall)
    await every(fleet, do="begin", at=START_S, models=["m"], policy={}, keep_last=[], alone=alone)


async def every(fleet: Processes, **order: Any) -> list[Any]:
    return list((await fleet.each(dict.fromkeys(range(fleet.size), order))).values())


def judged(answers: list[Any]) -> list[int]:
    return [sum(n for _, n, _ in answer["m"]) for answer in answers]


async def test_row_7_sixteen_tasks_of_a_thousand_adds_are_sixteen_thousand(fleet: Processes) -> None:
    await begun(fleet)
    assert await every(fleet, do="add", tasks=4, adds=1_000, at=START_S) == [4_000] * 4
    assert judged(await every(fleet, do="judged", minutes=1, at=START_S)) == [16_000] * 4


async def test_row_6_a_replica_idle_for_three_windows_writes_one_and_it_is_one(fleet: Processes) -> None:
    await begun(fleet)
    await fleet.each({0: {"do": "add", "tasks": 1, "adds": 5, "at": START_S}})
    later_s = START_S + 90 * MINUTE_S
    await fleet.each({0: {"do": "add", "tasks": 1, "adds": 1, "at": later_s}})
    assert judged(await every(fleet, do="judged", minutes=30, at=later_s)) == [1] * 4


async def test_row_23_of_a_hundred_permits_asked_at_once_thirty_are_granted(fleet: Processes) -> None:
    await begun(fleet)
    assert sum(await every(fleet, do="lease", model="m", asks=25, budget=30, at=START_S)) == 30


async def test_row_40_evaluators_that_post_the_same_trip_make_one_epoch_and_one_alert(fleet: Processes) -> None:
    await begun(fleet, alone=True)
    bad = [{"model": "m", "scene": "chat", "outcome": "degenerate", "times": 25}]
    await every(fleet, do="note", notes=bad, at=START_S)
    await every(fleet, do="flush", at=START_S)
    now_s = START_S + MINUTE_S + 5.0
    await every(fleet, do="evaluate", at=now_s)
    told = [answer["documents"]["m"] for answer in await every(fleet, do="poll", at=now_s)]
    assert [(one["level"], one["epoch"]) for one in told] == [("reduced", 1)] * 4
    engine = open_engine(fleet.sql_url)
    assert [(row.model, row.epoch) for row in await SqlTransitions(engine).transitions()] == [("m", 1)]
    assert len(await SqlNotices(engine).waiting()) == 1
    await engine.dispose()

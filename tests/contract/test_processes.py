"""Rows 6, 7, 23 and 40 of the breaker's scenario table: four real processes on one real server."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from store.migrate import upgrade
from store.sql_link import open_engine
from store.sql_transitions import SqlTransitions
from tests.support.valkey import start_valkey

ROOT = Path(__file__).parents[2]
MINUTE_S = 60.0


class Fleet:
    """Four processes; `all` gives each its order before it reads the first answer, so that they work at once."""

    def __init__(self, redis_url: str, sql_url: str) -> None:
        self.redis_url, self.sql_url = redis_url, sql_url
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.support.replica_process", redis_url, sql_url, f"boot{index}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            for index in range(4)
        ]
        assert [self._answer(process) for process in self.processes] == ["ready"] * 4

    @staticmethod
    def _answer(process: subprocess.Popen[str]) -> Any:
        assert process.stdout is not None
        return json.loads(process.stdout.readline())

    def all(self, **order: Any) -> list[Any]:
        return self.some(range(4), **order)

    def some(self, which: range, **order: Any) -> list[Any]:
        chosen = [self.processes[index] for index in which]
        for process in chosen:
            assert process.stdin is not None
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        return [self._answer(process) for process in chosen]

    def close(self) -> None:
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    sql_url = f"sqlite:///{tmp_path_factory.mktemp('fleet') / 'fleet.db'}"
    asyncio.run(upgrade(sql_url))
    with start_valkey() as server:
        four = Fleet(server.url, sql_url)
        yield four
        four.close()


@pytest.fixture(autouse=True)
def _empty(fleet: Fleet) -> None:
    with Redis.from_url(fleet.redis_url) as client:
        client.flushall()


# The tests go forward in time, as a fleet does: each stands hours after the one before it.
def hours(count: int) -> float:
    return count * 60 * MINUTE_S


def test_row_7_sixteen_tasks_of_a_thousand_adds_are_sixteen_thousand(fleet: Fleet) -> None:
    assert fleet.all(do="add", tasks=4, adds=1_000, at=0.0) == [4_000] * 4
    assert fleet.all(do="sum", minutes=1, at=0.0) == [16_000] * 4


def test_row_6_a_replica_idle_for_three_windows_writes_one_and_it_is_one(fleet: Fleet) -> None:
    start_s = hours(3)
    fleet.some(range(1), do="add", tasks=1, adds=5, at=start_s)
    later_s = start_s + 90 * MINUTE_S
    fleet.some(range(1), do="add", tasks=1, adds=1, at=later_s)
    assert fleet.all(do="sum", minutes=30, at=later_s) == [1] * 4


def test_row_23_of_a_hundred_permits_asked_at_once_thirty_are_granted(fleet: Fleet) -> None:
    granted = fleet.all(do="lease", asks=25, budget=30, at=hours(6))
    assert sum(granted) == 30


def test_row_40_evaluators_that_post_the_same_trip_make_one_epoch_and_one_alert(fleet: Fleet) -> None:
    start_s = hours(9)
    fleet.all(do="bad", count=25, at=start_s)
    told = fleet.all(do="trip", at=start_s + MINUTE_S + 5.0)
    assert len({tuple(one) for one in told}) == 1
    assert told[0][1] == 1
    rows, owed = asyncio.run(_told(fleet.sql_url))
    assert [(row.model, row.epoch) for row in rows] == [("m", 1)]
    assert len(owed) == 1


async def _told(sql_url: str) -> tuple[list[Any], list[Any]]:
    engine = open_engine(sql_url)
    try:
        log = SqlTransitions(engine, ["ops"])
        return list(await log.transitions()), list(await log.pending(4e9))
    finally:
        await engine.dispose()

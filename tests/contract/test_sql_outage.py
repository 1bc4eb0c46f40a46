"""The database is locked, killed, and comes back: rows and moves wait on disk, are written once, in their order."""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from base.cancels import end
from base.clock import SystemClock
from breaker.levels import Level, Reason
from breaker.ports import StoreUnavailable
from breaker.snapshot import Transition
from router.ports import CallRow
from store.migrate import upgrade
from store.spool import Spool
from store.spooled_transitions import SpooledTransitions
from store.sql_calls import SqlCallLog
from store.sql_link import open_engine
from store.sql_transitions import SqlTransitions
from store.tables import incident
from tests.support.call_log import Written
from tests.support.postgres import NotHere, Postgres


def call(number: int) -> CallRow:
    return CallRow(
        request_id=f"pm-{number}", at=float(number), app="app", route="chat", scene="chat", session="s", served_model="m",
        fallback="none", status=200, code="", verdict="clean", loop_class="", attempts=({"model": "m"},),
        metrics={"trigram": 0.5}, stream=True, elapsed_ms=1, first_text_ms=None, tokens_in=1, tokens_out=2,
    )  # fmt: skip


def move(epoch: int) -> Transition:
    return Transition(
        model="m", epoch=epoch, at=float(epoch), from_level=Level.HEALTHY, to_level=Level.OPEN,
        reasons=(Reason.STUCK_STREAMS,), numbers=(("stuck", 6.0),),
    )  # fmt: skip


class Process:
    """What one process has of the two logs; `end` is its death: memory is gone, the folders are free."""

    def __init__(self, engine: AsyncEngine, folder: Path) -> None:
        self._spools = [Spool(folder / name, 1_000_000) for name in ("calls", "moves")]
        self.calls = SqlCallLog(engine, spool=self._spools[0])
        self.moves = SpooledTransitions(SqlTransitions(engine), self._spools[1])

    def end(self) -> None:
        for spool in self._spools:
            spool.close()


class DiskOf:
    """So many pages may each new connection's database have; at least those that it has."""

    def __init__(self, pages: int) -> None:
        self.pages = pages

    def bound(self, connection: Any, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count={self.pages}")


async def until(true: Callable[[], bool]) -> None:
    end_s = asyncio.get_running_loop().time() + 60
    while not true():
        assert asyncio.get_running_loop().time() < end_s, "not seen in time"
        await asyncio.sleep(0.02)


async def failing(log: SqlCallLog) -> None:
    """One turn of the log's own loop while the database is away."""
    with pytest.raises(StoreUnavailable):
        await log.flush()
    await log.spill()
    assert log.waiting == 0
    assert log.spooled_bytes > 0


async def holds(engine: AsyncEngine, calls: int, moves: int) -> None:
    found = await Written(engine).calls()
    assert sorted(row.at for row in found) == [float(number) for number in range(calls)]
    log = SqlTransitions(engine)
    assert [told.epoch for told in reversed(await log.transitions())] == list(range(1, moves + 1))
    async with engine.connect() as connection:
        opened = (await connection.execute(select(func.count()).select_from(incident))).scalar()
    assert opened == min(moves, 1), "the moves of one model are one incident"


async def test_a_locked_database_file_loses_and_doubles_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'pm.db'}"
    await upgrade(url)
    engine = open_engine(url, timeout_s=0.2)
    here = Process(engine, tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "pm.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for number in range(3):
            here.calls.add_call(call(number))
        await failing(here.calls)
        assert await here.moves.append(move(1))
        other.execute("ROLLBACK")
    here.calls.add_call(call(3))
    await here.calls.flush()
    await here.calls.flush()
    assert await here.moves.append(move(2))
    await holds(engine, calls=4, moves=2)
    await engine.dispose()
    here.end()


async def test_a_full_disk_was_told_as_an_operational_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "pm.db"
    await upgrade(f"sqlite:///{file}")
    engine, disk = open_engine(f"sqlite:///{file}"), DiskOf(1)
    event.listen(engine.sync_engine, "connect", disk.bound)
    here = Process(engine, tmp_path)
    full = f"database {file}: the disk is full: free some space there"
    with caplog.at_level(logging.INFO, "store.sql_queue"):
        writing = asyncio.create_task(here.calls.run(SystemClock()))
        for number in range(200):
            here.calls.add_call(call(number))
        await until(lambda: here.calls.failing == full)
        disk.pages = 100_000
        await engine.dispose()
        await until(lambda: not here.calls.failing)
        await end([writing])
    assert [record.message for record in caplog.records] == [
        f"rows of call, failed_reply wait: {full}",
        "rows of call, failed_reply are written again",
    ]
    await holds(engine, calls=200, moves=0)
    await engine.dispose()
    here.end()


@pytest.mark.postgres
async def test_a_killed_postgres_that_comes_back_has_every_row_once(tmp_path: Path) -> None:
    try:
        server = Postgres()
        server.start()
    except NotHere as reason:
        pytest.skip(f"NOT RUN: postgres, {reason}")
    with contextlib.closing(server):
        await upgrade(server.url("postgres"))
        engine = open_engine(server.url("postgres"))
        here = Process(engine, tmp_path)
        for number in range(3):
            here.calls.add_call(call(number))
        await here.calls.flush()
        assert await here.moves.append(move(1))
        await asyncio.to_thread(server.kill)
        for number in range(3, 6):
            here.calls.add_call(call(number))
        await failing(here.calls)
        assert await here.moves.append(move(2))
        assert await here.moves.append(move(3))
        here.calls.add_call(call(6))
        await here.calls.close()
        here.end()
        await asyncio.to_thread(server.start)
        after = Process(engine, tmp_path)
        await after.calls.flush()
        await after.moves.replay()
        await holds(engine, calls=7, moves=3)
        await engine.dispose()
        after.end()


async def test_a_process_that_dies_leaves_its_rows_to_the_next(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'pm.db'}"
    engine = open_engine(url, timeout_s=0.2)  # no tables yet: as good as away
    here = Process(engine, tmp_path)
    here.calls.add_call(call(0))
    await failing(here.calls)
    assert await here.moves.append(move(1))
    here.end()
    await upgrade(url)
    after = Process(engine, tmp_path)
    await after.calls.flush()
    await after.moves.replay()
    await holds(engine, calls=1, moves=1)
    await engine.dispose()
    after.end()

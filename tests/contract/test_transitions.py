"""The port TransitionLog over memory, SQLite and PostgreSQL, and the incident it files with a move."""

import asyncio

from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.levels import Level, Reason
from breaker.ports import TransitionLog
from breaker.snapshot import Transition
from store.memory import MemoryTransitions
from store.sql_notices import SqlNotices
from store.sql_transitions import SqlTransitions


def move(epoch: int = 1, at: float = 1_700_000_000.0) -> Transition:
    return Transition(
        model="a", epoch=epoch, at=at, from_level=Level.HEALTHY, to_level=Level.OPEN, reasons=(Reason.BURST,),
        numbers=(("ratio", 0.3),), enforced=False,
    )  # fmt: skip


async def once(log: TransitionLog) -> None:
    assert await log.append(move(1))
    assert not await log.append(move(1))
    assert await log.append(move(2))


async def test_one_model_and_epoch_is_kept_once_in_memory() -> None:
    await once(MemoryTransitions())


async def test_one_model_and_epoch_is_kept_once_in_sql(engine: AsyncEngine) -> None:
    log = SqlTransitions(engine)
    await once(log)
    assert await log.transitions("a") == [move(2), move(1)]
    assert await log.transitions("b") == []


async def test_whoever_writes_first_files_the_one_incident(engine: AsyncEngine) -> None:
    log = SqlTransitions(engine)
    won = await asyncio.gather(*(log.append(move()) for _ in range(6)))
    assert sum(won) == 1
    (one,) = await SqlNotices(engine).waiting()
    assert (one.subject, one.stage, one.revision) == ("a", "open", 1)

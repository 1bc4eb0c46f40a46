"""The port TransitionLog over memory, SQLite and PostgreSQL, and the outbox it files alerts in."""

import asyncio

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.levels import Level, Reason
from breaker.ports import TransitionLog
from breaker.snapshot import Transition
from store.memory import MemoryTransitions
from store.sql_transitions import PENDING, SENT, SqlTransitions


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


async def test_the_first_writer_files_one_alert_per_channel(engine: AsyncEngine) -> None:
    log = SqlTransitions(engine, ["wecom", "dingtalk"])
    won = await asyncio.gather(*(log.append(move()) for _ in range(6)))
    assert sum(won) == 1
    rows = await log.pending(move().at)
    assert [(row.channel, row.alert_id, row.kind) for row in rows] == [
        ("wecom", "a:1", "transition"),
        ("dingtalk", "a:1", "transition"),
    ]
    assert rows[0].body["to_level"] == "open"


async def test_a_marked_row_is_not_pending_before_its_time(engine: AsyncEngine) -> None:
    log = SqlTransitions(engine, ["wecom", "dingtalk"])
    await log.append(move())
    first, second = await log.pending(move().at)
    await log.mark(first.id, SENT, at=move().at + 1)
    await log.mark(second.id, PENDING, due_at=move().at + 30, detail="45009")
    assert await log.pending(move().at + 29) == []
    (again,) = await log.pending(move().at + 30)
    assert (again.channel, again.tries, again.detail) == ("dingtalk", 1, "45009")


async def test_an_alert_that_is_no_transition_is_owed_once(engine: AsyncEngine) -> None:
    log = SqlTransitions(engine, ["wecom"])
    for _ in range(2):
        await log.owe("hourly:a:12", "a", "hourly", {"ratio": 0.1}, 5.0)
    assert len(await log.pending(5.0)) == 1
    assert await log.pending(4.0) == []


@pytest.mark.parametrize("sent", [True, False], ids=["sent rows go", "pending rows stay"])
async def test_old_rows_are_forgotten(engine: AsyncEngine, sent: bool) -> None:
    log = SqlTransitions(engine, ["wecom"])
    await log.append(move())
    (row,) = await log.pending(move().at)
    if sent:
        await log.mark(row.id, SENT, at=move().at)
    assert await log.forget_sent(move().at + 1) == int(sent)

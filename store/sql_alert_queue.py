"""How much each channel still owes, and since when: what a watcher of the pipe reads. Raises StoreUnavailable."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from store.sql_link import answered
from store.tables import alert_outbox

OWED = ("pending", "sending")


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Letters that one channel has not told yet, and when the oldest of them was filed."""

    letters: int
    oldest_at: float


async def queues(engine: AsyncEngine) -> Mapping[str, Queue]:
    """By channel; one that owes nothing is left out."""
    c = alert_outbox.c
    query = select(c.channel, func.count(), func.min(c.created_at)).where(c.state.in_(OWED)).group_by(c.channel)
    with answered(engine):
        async with engine.connect() as connection:
            rows = (await connection.execute(query)).all()
    return {channel: Queue(letters=int(count), oldest_at=float(oldest)) for channel, count, oldest in rows}

"""Transitions for good, and the incident that each opens, changes or closes, filed in one transaction (the outbox).

So no transition is without its incident and none is counted twice, whoever writes and however often.
"""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.ports import TransitionLog
from breaker.snapshot import Transition
from store.documents import from_row, plain
from store.sql_incidents import file_move
from store.sql_link import answered, insert_new
from store.tables import transition


class SqlTransitions:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def append(self, transition_: Transition) -> bool:
        with answered(self._engine):
            async with self._engine.begin() as connection:
                values = plain(transition_)
                kept = await connection.execute(insert_new(self._engine, transition).returning(transition.c.id), values)
                if kept.first() is None:
                    return False
                await file_move(connection, self._engine, transition_)
        return True

    async def transitions(
        self, model: str | None = None, *, since: float = 0.0, limit: int = 200
    ) -> Sequence[Transition]:
        """Newest first; of one model if given."""
        query = select(transition).where(transition.c.at >= since)
        if model is not None:
            query = query.where(transition.c.model == model)
        query = query.order_by(transition.c.at.desc(), transition.c.id.desc()).limit(limit)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(Transition, row) for row in rows]


_log: type[TransitionLog] = SqlTransitions

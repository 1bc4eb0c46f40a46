"""Transitions for good, and the alerts they owe, filed in one transaction (the outbox).

So no transition is without its alert rows and no alert is filed twice, whoever writes and however often.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from breaker.ports import TransitionLog
from breaker.snapshot import Transition
from monitor.ports import Outbox
from store.documents import from_row, plain
from store.sql_incidents import file_move
from store.sql_link import answered, insert_new
from store.tables import alert_outbox, transition

PENDING = "pending"
SENT = "sent"
TRANSITION = "transition"
"""The kind of an alert that tells one move of one model; its body is the transition, field by field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """One message owed to one channel. `state`: pending, sent, or a sender's own word for given up."""

    id: int
    alert_id: str
    channel: str
    model: str
    kind: str
    body: dict[str, Any]
    state: str
    tries: int
    detail: str
    created_at: float
    due_at: float
    sent_at: float | None


class SqlTransitions:
    """`channels` are the names of the alert channels; without any, transitions are kept and nobody is told.

    All methods raise StoreUnavailable.
    """

    def __init__(self, engine: AsyncEngine, channels: Sequence[str] = ()) -> None:
        self._engine = engine
        self._channels = tuple(channels)

    async def append(self, transition_: Transition) -> bool:
        with answered():
            async with self._engine.begin() as connection:
                values = plain(transition_)
                kept = await connection.execute(insert_new(self._engine, transition).returning(transition.c.id), values)
                if kept.first() is None:
                    return False
                alert_id = f"{transition_.model}:{transition_.epoch}"
                await self._owe(connection, alert_id, transition_.model, TRANSITION, values, transition_.at)
                await file_move(connection, self._engine, transition_)
        return True

    async def owe(self, alert_id: str, model: str, kind: str, body: dict[str, Any], at: float) -> None:
        """File an alert that is no transition; one that is already filed for a channel stays as it is."""
        with answered():
            async with self._engine.begin() as connection:
                await self._owe(connection, alert_id, model, kind, body, at)

    async def _owe(
        self, connection: AsyncConnection, alert_id: str, model: str, kind: str, body: dict[str, Any], at: float
    ) -> None:
        common = {"alert_id": alert_id, "model": model, "kind": kind, "body": body, "state": PENDING}
        rows = [{**common, "channel": name, "created_at": at, "due_at": at} for name in self._channels]
        if rows:
            await connection.execute(insert_new(self._engine, alert_outbox), rows)

    async def pending(self, now: float, limit: int = 100) -> Sequence[OutboxRow]:
        """What is to be sent at `now`, in the order it was filed."""
        query = (
            select(alert_outbox)
            .where(alert_outbox.c.state == PENDING, alert_outbox.c.due_at <= now)
            .order_by(alert_outbox.c.id)
            .limit(limit)
        )
        with answered():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [OutboxRow(**row) for row in rows]

    async def mark(
        self, id: int, state: str, *, at: float | None = None, due_at: float | None = None, detail: str = ""
    ) -> None:
        """Say what became of a row: `sent` with `at`, or `pending` again from `due_at` on. Each mark is one try more."""
        values: dict[str, Any] = {"state": state, "detail": detail, "tries": alert_outbox.c.tries + 1}
        if at is not None:
            values["sent_at"] = at
        if due_at is not None:
            values["due_at"] = due_at
        with answered():
            async with self._engine.begin() as connection:
                await connection.execute(update(alert_outbox).where(alert_outbox.c.id == id).values(values))

    async def transitions(
        self, model: str | None = None, *, since: float = 0.0, limit: int = 200
    ) -> Sequence[Transition]:
        """Newest first; of one model if given."""
        query = select(transition).where(transition.c.at >= since)
        if model is not None:
            query = query.where(transition.c.model == model)
        query = query.order_by(transition.c.at.desc(), transition.c.id.desc()).limit(limit)
        with answered():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(Transition, row) for row in rows]

    async def forget_sent(self, before: float) -> int:
        """Delete rows sent or given up before then; the number that went. Pending ones stay."""
        stale = delete(alert_outbox).where(alert_outbox.c.state != PENDING, alert_outbox.c.created_at < before)
        with answered():
            async with self._engine.begin() as connection:
                return (await connection.execute(stale)).rowcount


_log: type[TransitionLog] = SqlTransitions
_outbox: type[Outbox] = SqlTransitions

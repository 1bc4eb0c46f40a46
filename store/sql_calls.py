"""The call log in SQL: written in batches off the request path (store/sql_queue.py), and read."""

import os
from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncEngine

from router.ports import CallLog, CallRow, FailedReply
from store.documents import from_row, plain
from store.spool import Spool
from store.sql_link import answered
from store.sql_queue import QUEUE_ROWS, RowQueue
from store.tables import call, failed_reply


class SqlCallLog(RowQueue):
    """One per process. `add_call` and `add_failed` only put a row into the queue."""

    def __init__(self, engine: AsyncEngine, *, queue_rows: int = QUEUE_ROWS, spool: Spool | None = None) -> None:
        super().__init__(engine, (call, failed_reply), queue_rows=queue_rows, spool=spool)

    def add_call(self, row: CallRow) -> None:
        self.put(call, plain(row))

    def add_failed(self, row: FailedReply) -> None:
        self.put(failed_reply, {"id": os.urandom(16).hex(), **plain(row)})


class SqlCalls:
    """The call log, read: for feedback, search and the console. All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def call(self, request_id: str) -> CallRow | None:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                row = (await connection.execute(select(call).where(call.c.request_id == request_id))).mappings().first()
        return from_row(CallRow, row) if row else None

    async def calls(
        self, *, app: str | None = None, model: str | None = None, before: float | None = None, limit: int = 100
    ) -> Sequence[CallRow]:
        """Newest first; of one app or served model if given, and older than `before`."""
        query = select(call).order_by(call.c.at.desc(), call.c.request_id).limit(limit)
        if app is not None:
            query = query.where(call.c.app == app)
        if model is not None:
            query = query.where(call.c.served_model == model)
        if before is not None:
            query = query.where(call.c.at < before)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(CallRow, row) for row in rows]

    async def failed(
        self, *, request_id: str | None = None, model: str | None = None, limit: int = 100
    ) -> Sequence[FailedReply]:
        """Newest first; of one request or model if given."""
        query = select(failed_reply).order_by(failed_reply.c.at.desc(), failed_reply.c.id).limit(limit)
        if request_id is not None:
            query = query.where(failed_reply.c.request_id == request_id)
        if model is not None:
            query = query.where(failed_reply.c.model == model)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(FailedReply, row) for row in rows]

    async def forget(self, *, calls_before: float, failed_before: float) -> int:
        """Delete what is past its time; the number of rows that went."""
        with answered(self._engine):
            async with self._engine.begin() as connection:
                gone = await connection.execute(delete(call).where(call.c.at < calls_before))
                texts = await connection.execute(delete(failed_reply).where(failed_reply.c.at < failed_before))
        return gone.rowcount + texts.rowcount


_log: type[CallLog] = SqlCallLog

"""The call log in SQL, written in batches off the request path.

`add_call` and `add_failed` only put a row into a bounded queue; `run` writes. While SQL is away rows wait; when the
queue is full, new rows are dropped and counted. A batch whose answer was lost is written again and stays once.
"""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import String, Table, Text, delete, select
from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import Clock
from breaker.ports import StoreUnavailable
from router.ports import CallLog, CallRow, FailedReply
from store.documents import from_row, plain
from store.sql_link import RowRefused, answered, insert_new
from store.tables import call, failed_reply

BATCH_S = 0.5
BATCH_ROWS = 500
WAIT_CAP_S = 10.0
"""While SQL is away the writer asks again after 0.5, 1, 2 … and at most this many seconds."""
QUEUE_ROWS = 20_000
"""About 20 MB at a kilobyte a row: minutes of an outage at hundreds of requests a second."""

Row = tuple[Table, dict[str, Any]]


class SqlCallLog:
    """One per process. `dropped` counts rows lost to a full queue, `refused` rows the database would not take."""

    def __init__(self, engine: AsyncEngine, *, queue_rows: int = QUEUE_ROWS) -> None:
        self._engine = engine
        self._queue: deque[Row] = deque()
        self._queue_rows = queue_rows
        self._writing = asyncio.Lock()
        self.dropped = 0
        self.refused = 0
        self.written = 0

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def add_call(self, row: CallRow) -> None:
        self._add(call, plain(row))

    def add_failed(self, row: FailedReply) -> None:
        self._add(failed_reply, {"id": os.urandom(16).hex(), **plain(row)})

    def _add(self, table: Table, values: dict[str, Any]) -> None:
        if len(self._queue) >= self._queue_rows:
            self.dropped += 1
            return
        self._queue.append((table, _fitting(table, values)))

    async def run(self, clock: Clock) -> None:
        """Write every 500 real milliseconds, whatever the clock's scale, until cancelled. Runs in a task of its own."""
        wait_s = BATCH_S
        while True:
            await clock.sleep(wait_s / clock.real_s(1.0))
            try:
                await self.flush()
                wait_s = BATCH_S
            except StoreUnavailable:
                wait_s = min(wait_s * 2, WAIT_CAP_S)

    async def flush(self) -> None:
        """Write all that waits. Raises StoreUnavailable; what was not written waits on."""
        # One writer at a time: a batch leaves the queue only after it was written, and from the left.
        async with self._writing:
            while self._queue:
                batch = [self._queue[i] for i in range(min(BATCH_ROWS, len(self._queue)))]
                try:
                    await self._write(batch)
                    self.written += len(batch)
                except RowRefused:
                    await self._one_by_one(batch)
                for _ in batch:
                    self._queue.popleft()

    async def close(self) -> None:
        """Write what waits if the database is there; count the rest as dropped."""
        with contextlib.suppress(StoreUnavailable):
            await self.flush()
        self.dropped += len(self._queue)
        self._queue.clear()

    async def _one_by_one(self, batch: Sequence[Row]) -> None:
        """One bad row must not hold up the others, nor be tried for ever."""
        for row in batch:
            try:
                await self._write([row])
                self.written += 1
            except RowRefused:
                self.refused += 1

    async def _write(self, batch: Sequence[Row]) -> None:
        with answered():
            async with self._engine.begin() as connection:
                for table in (call, failed_reply):
                    rows = [values for owner, values in batch if owner is table]
                    if rows:
                        await connection.execute(insert_new(self._engine, table), rows)


class SqlCalls:
    """The call log, read: for feedback, search and the console. All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def call(self, request_id: str) -> CallRow | None:
        with answered():
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
        with answered():
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
        with answered():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(FailedReply, row) for row in rows]

    async def forget(self, *, calls_before: float, failed_before: float) -> int:
        """Delete what is past its time; the number of rows that went."""
        with answered():
            async with self._engine.begin() as connection:
                gone = await connection.execute(delete(call).where(call.c.at < calls_before))
                texts = await connection.execute(delete(failed_reply).where(failed_reply.c.at < failed_before))
        return gone.rowcount + texts.rowcount


def _fitting(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """Strings cut to their column and free of what PostgreSQL cannot keep: NUL and lone surrogates."""
    return {name: _text(table, name, value) if isinstance(value, str) else value for name, value in values.items()}


def _text(table: Table, name: str, value: str) -> str:
    clean = value.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    kind = table.c[name].type
    return clean[: kind.length] if isinstance(kind, String) and not isinstance(kind, Text) else clean


_log: type[CallLog] = SqlCallLog

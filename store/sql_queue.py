"""Rows written in batches, off the path of whoever hands them over.

Adding only puts a row into a bounded queue; `run` writes. While SQL is away rows wait; when the queue is full, new rows
are dropped and counted. A batch whose answer was lost is written again: a row whose key is there already stays as it is.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import String, Table, Text
from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import Clock
from breaker.ports import StoreUnavailable
from store.sql_link import RowRefused, answered, insert_new

BATCH_S = 0.5
BATCH_ROWS = 500
WAIT_CAP_S = 10.0
"""While SQL is away the writer asks again after 0.5, 1, 2 … and at most this many seconds."""
QUEUE_ROWS = 20_000
"""About 20 MB at a kilobyte a row: minutes of an outage at hundreds of requests a second."""

Row = tuple[Table, dict[str, Any]]


class RowQueue:
    """`tables`, in the order in which one batch writes them. `dropped` counts rows lost to a full queue, `refused` rows
    the database would not take."""

    def __init__(self, engine: AsyncEngine, tables: Sequence[Table], *, queue_rows: int = QUEUE_ROWS) -> None:
        self._engine = engine
        self._tables = tuple(tables)
        self._queue: deque[Row] = deque()
        self._queue_rows = queue_rows
        self._writing = asyncio.Lock()
        self.dropped = 0
        self.refused = 0
        self.written = 0

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def put(self, table: Table, values: dict[str, Any]) -> None:
        """Hand over one row; strings are cut to their columns."""
        if len(self._queue) >= self._queue_rows:
            self.dropped += 1
            return
        self._queue.append((table, fitting(table, values)))

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
                for table in self._tables:
                    rows = [values for owner, values in batch if owner is table]
                    if rows:
                        await connection.execute(insert_new(self._engine, table), rows)


def fitting(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """Strings cut to their column and free of what PostgreSQL cannot keep: NUL and lone surrogates."""
    return {name: _text(table, name, value) if isinstance(value, str) else value for name, value in values.items()}


def _text(table: Table, name: str, value: str) -> str:
    clean = value.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    kind = table.c[name].type
    return clean[: kind.length] if isinstance(kind, String) and not isinstance(kind, Text) else clean

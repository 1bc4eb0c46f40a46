"""Rows written in batches, off the path of whoever hands them over.

Adding only puts a row into a bounded queue; `run` writes. While SQL is away rows go to a spool on disk, if there is one,
and are written from there in their order once it is back, also by the process that comes after this one. When queue and
spool are full, new rows are dropped and counted. A batch whose answer was lost is written again: a row whose key is
there already stays as it is.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import String, Table, Text
from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import Clock
from breaker.ports import StoreUnavailable
from store.documents import from_json, to_json
from store.spool import Spool
from store.sql_link import RowRefused, answered, insert_new
from store.sql_why import why

log = logging.getLogger(__name__)
BATCH_S = 0.5
BATCH_ROWS = 500
WAIT_CAP_S = 10.0
"""While SQL is away the writer asks again after 0.5, 1, 2 … and at most this many seconds."""
QUEUE_ROWS = 20_000
"""About 20 MB at a kilobyte a row: minutes of an outage at hundreds of requests a second."""

Row = tuple[Table, dict[str, Any]]


class RowQueue:
    """`tables`, in the order in which one batch writes them. `dropped` counts rows lost to a full queue or spool,
    `refused` rows the database would not take, `spool_failures` writes the disk refused; `failing` says why the database
    took nothing at the last try, and is empty while it does."""

    def __init__(
        self,
        engine: AsyncEngine,
        tables: Sequence[Table],
        *,
        queue_rows: int = QUEUE_ROWS,
        spool: Spool | None = None,
    ) -> None:
        self._engine = engine
        self._tables = tuple(tables)
        self._by_name = {table.name: table for table in tables}
        self._spool = spool
        self._queue: deque[Row] = deque()
        self._queue_rows = queue_rows
        self._writing = asyncio.Lock()
        self.dropped = 0
        self.refused = 0
        self.written = 0
        self.spool_failures = 0
        self.failing = ""
        self._disk_said = ""

    @property
    def waiting(self) -> int:
        """Rows in memory; those on disk are counted in bytes."""
        return len(self._queue)

    @property
    def spooled_bytes(self) -> int:
        return self._spool.size_bytes if self._spool is not None else 0

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
                self._database_said("")
                wait_s = BATCH_S
            except StoreUnavailable as error:
                self._database_said(str(error))
                await self.spill()
                wait_s = min(wait_s * 2, WAIT_CAP_S)

    async def flush(self) -> None:
        """Write all that waits, what is on disk first. Raises StoreUnavailable; what was not written waits on."""
        # One writer at a time: a batch leaves the queue only after it was written, and from the left.
        async with self._writing:
            await self._replay()
            while self._queue:
                batch = [self._queue[i] for i in range(min(BATCH_ROWS, len(self._queue)))]
                await self._keep(batch)
                for _ in batch:
                    self._queue.popleft()

    async def _keep(self, batch: Sequence[Row]) -> None:
        try:
            await self._write(batch)
            self.written += len(batch)
        except RowRefused:
            await self._one_by_one(batch)

    async def _replay(self) -> None:
        spool = self._spool
        if spool is None or not spool:
            return
        try:
            while (segment := await asyncio.to_thread(spool.oldest)) is not None:
                file, records = segment
                rows = [row for record in records if (row := self._row(record)) is not None]
                for start in range(0, len(rows), BATCH_ROWS):
                    await self._keep(rows[start : start + BATCH_ROWS])
                await asyncio.to_thread(spool.taken, file)
        except OSError as error:
            self._disk_failed(error)

    def _row(self, record: bytes) -> Row | None:
        """The row in a record of the spool; None if this release cannot read it."""
        try:
            name, values = from_json(tuple[str, dict[str, Any]], record)
            return self._by_name[name], values
        except (StoreUnavailable, KeyError):
            self.refused += 1
            return None

    async def spill(self) -> None:
        """Put what waits on disk, where it outlives this process. What the disk will not take stays in memory."""
        if self._spool is None:
            return
        async with self._writing:
            rows = list(self._queue)
            if not rows:
                return
            try:
                kept = await asyncio.to_thread(
                    self._spool.append, [to_json((str(t.name), values)) for t, values in rows]
                )
            except OSError as error:
                self._disk_failed(error)
                return
            self._disk_said = ""
            for _ in range(kept):
                self._queue.popleft()

    def _database_said(self, failing: str) -> None:
        """Tell the log what changed, not each try."""
        if failing != self.failing:
            self.failing = failing
            names = ", ".join(self._by_name)
            if failing:
                log.warning("rows of %s wait: %s", names, failing)
            else:
                log.info("rows of %s are written again", names)

    def _disk_failed(self, error: OSError) -> None:
        assert self._spool is not None
        said = f"{self._spool.folder}: {why(error)}"
        if said != self._disk_said:
            log.error("the spool fails, rows wait in memory: %s", said)
        self._disk_said = said
        self.spool_failures += 1

    async def close(self) -> None:
        """Write what waits if the database is there, else spill it; count as dropped what neither takes."""
        with contextlib.suppress(StoreUnavailable):
            await self.flush()
        await self.spill()
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
        with answered(self._engine):
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

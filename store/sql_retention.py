"""Old rows go, and the oldest of too many: in small batches, so that nobody waits long for a lock.

In:  a table with a moment per row, the oldest moment that is kept, the most rows.  Out: how many went.
"""

from sqlalchemy import Column, Table, delete, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from store.sql_link import answered

BATCH = 2_000
COUNTED_ROWS = 1_000_000
"""Beyond it PostgreSQL's own estimate is believed: counting reads the whole table, and an answer has 5 s (TIMEOUT_S)."""
ESTIMATE = text(
    "select coalesce(sum(reltuples), 0) from pg_class where oid = to_regclass(:name)"
    " or oid in (select relid from pg_partition_tree(to_regclass(:name)))"
)


class SqlRetention:
    """All methods raise StoreUnavailable; what went before that is gone."""

    def __init__(self, engine: AsyncEngine, batch: int = BATCH) -> None:
        self._engine, self._batch = engine, batch

    async def older(self, table: Table, moment: str, before: float) -> int:
        """Delete rows of before `before`."""
        return await self._in_batches(table, table.c[moment], before, None)

    async def beyond(self, table: Table, moment: str, most: int) -> int:
        """Delete the oldest rows beyond the `most` newest."""
        with answered(self._engine):
            async with self._engine.connect() as connection:
                there = await self._count(connection, table)
        return await self._in_batches(table, table.c[moment], None, there - most) if there > most else 0

    async def _count(self, connection: AsyncConnection, table: Table) -> int:
        if self._engine.dialect.name == "postgresql":
            about = int((await connection.execute(ESTIMATE, {"name": f'"{table.name}"'})).scalar_one())
            if about > COUNTED_ROWS:
                return about
        return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())

    async def _in_batches(
        self, table: Table, moment: "Column[float]", before: float | None, most: int | None
    ) -> int:  # fmt: skip
        key = next(iter(table.primary_key.columns))
        gone = 0
        while most is None or gone < most:
            size = self._batch if most is None else min(self._batch, most - gone)
            oldest = select(key).order_by(moment, key).limit(size)
            if before is not None:
                oldest = oldest.where(moment < before)
            with answered(self._engine):
                async with self._engine.begin() as connection:
                    went = (await connection.execute(delete(table).where(key.in_(oldest)))).rowcount
            gone += went
            if went < size:
                break
        return gone

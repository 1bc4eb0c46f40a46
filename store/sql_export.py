"""Rows of a span of time, oldest first, a thousand at a time: for files that are larger than memory.

In:  what to export, [`since`, `until`) in seconds since the epoch.  Out: rows as plain values, columns by name.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncEngine

from store.sql_link import answered
from store.tables import call, day_count, eval_result, failed_reply, finding, hour_count, transition

KINDS: Mapping[str, tuple[Table, str]] = {
    "calls": (call, "at"),
    "failed": (failed_reply, "at"),
    "hours": (hour_count, "starts_at"),
    "days": (day_count, "starts_at"),
    "transitions": (transition, "at"),
    "findings": (finding, "at"),
    "answers": (eval_result, "at"),
}
PAGE = 1_000


def columns(kind: str) -> Sequence[str]:
    """The columns of a kind, in the order of the table."""
    return [str(column.name) for column in KINDS[kind][0].columns]


async def rows(engine: AsyncEngine, kind: str, since: float, until: float) -> AsyncIterator[Mapping[str, Any]]:
    """Raises StoreUnavailable, also in the middle; KeyError for an unknown kind."""
    table, moment = KINDS[kind]
    at, key = table.c[moment], next(iter(table.primary_key.columns))
    query = select(table).where(at >= since, at < until).order_by(at, key)
    with answered(engine):
        async with engine.connect() as connection:
            result = await connection.stream(query, execution_options={"yield_per": PAGE})
            async for row in result.mappings():
                yield {str(name): value for name, value in row.items()}

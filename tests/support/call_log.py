"""What the call log has written, read back as it was handed over."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.engine import RowMapping
from sqlalchemy.ext.asyncio import AsyncEngine

from router.ports import CallRow, FailedReply
from store.documents import from_row
from store.tables import call, failed_reply


class Written:
    """Rows of the two tables, newest first."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def calls(self) -> list[CallRow]:
        query = select(call).order_by(call.c.at.desc(), call.c.request_id)
        return [from_row(CallRow, row) for row in await self._rows(query)]

    async def call(self, request_id: str) -> CallRow | None:
        found = await self._rows(select(call).where(call.c.request_id == request_id))
        return from_row(CallRow, found[0]) if found else None

    async def failed(self) -> list[FailedReply]:
        query = select(failed_reply).order_by(failed_reply.c.at.desc(), failed_reply.c.id)
        return [from_row(FailedReply, row) for row in await self._rows(query)]

    async def _rows(self, query: Select[Any]) -> Sequence[RowMapping]:
        async with self._engine.connect() as connection:
            return (await connection.execute(query)).mappings().all()

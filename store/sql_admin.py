"""The audit log: who did what to what, and why. Rows are added and read, never changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from store.documents import plain
from store.sql_link import answered
from store.tables import admin_action


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminAction:
    """One act of an operator. `details` hold the values before and after, never a key."""

    at: float
    actor: str
    role: str
    action: str
    target: str
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)


class SqlAdminLog:
    """All methods raise StoreUnavailable: an act that cannot be written down is not done."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def record(self, action: AdminAction) -> None:
        with answered():
            async with self._engine.begin() as connection:
                await connection.execute(insert(admin_action), plain(action))

    async def actions(self, *, target: str | None = None, limit: int = 200) -> Sequence[AdminAction]:
        """Newest first; on one target if given."""
        query = select(*(admin_action.c[name] for name in AdminAction.__dataclass_fields__))
        if target is not None:
            query = query.where(admin_action.c.target == target)
        query = query.order_by(admin_action.c.at.desc(), admin_action.c.id.desc()).limit(limit)
        with answered():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [AdminAction(**row) for row in rows]

    async def search(
        self, *, actor: str = "", action: str = "", target: str = "", before: float | None = None, limit: int = 100
    ) -> Sequence[AdminAction]:
        """Newest first; by whole actor, action and target where given, and older than `before`."""
        columns = admin_action.c
        query = select(*(columns[name] for name in AdminAction.__dataclass_fields__))
        for column, wanted in ((columns.actor, actor), (columns.action, action), (columns.target, target)):
            if wanted:
                query = query.where(column == wanted)
        if before is not None:
            query = query.where(columns.at < before)
        query = query.order_by(columns.at.desc(), columns.id.desc()).limit(limit)
        with answered():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [AdminAction(**row) for row in rows]

"""The audit log: who did what to what, and why. Rows are added and read, never changed."""

from collections.abc import Sequence

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from console.fleet_ports import Act
from store.documents import plain
from store.sql_link import answered
from store.tables import admin_action


class SqlAdminLog:
    """All methods raise StoreUnavailable: an act that cannot be written down is not done."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def record(self, action: Act) -> None:
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await connection.execute(insert(admin_action), plain(action))

    async def search(
        self, *, actor: str = "", action: str = "", target: str = "", before: float | None = None, limit: int = 100
    ) -> Sequence[Act]:
        """Newest first; by whole actor, action and target where given, and older than `before`."""
        columns = admin_action.c
        query = select(*(columns[name] for name in Act.__dataclass_fields__))
        for column, wanted in ((columns.actor, actor), (columns.action, action), (columns.target, target)):
            if wanted:
                query = query.where(column == wanted)
        if before is not None:
            query = query.where(columns.at < before)
        query = query.order_by(columns.at.desc(), columns.id.desc()).limit(limit)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [Act(**row) for row in rows]

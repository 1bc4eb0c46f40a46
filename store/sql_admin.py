"""The audit log: who did what to what, and why. Rows are added and read; one thing alone is added to a row, that its act was refused."""

from collections.abc import Sequence

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from console.fleet_ports import NOT_DONE, OLDER_NAMES, Act
from store.documents import plain
from store.sql_link import answered
from store.tables import admin_action


class SqlAdminLog:
    """All methods raise StoreUnavailable: an act that cannot be written down is not done."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def record(self, action: Act) -> int:
        """Add an act; its number."""
        with answered(self._engine):
            async with self._engine.begin() as connection:
                added = await connection.execute(insert(admin_action).returning(admin_action.c.id), plain(action))
                return int(added.scalar_one())

    async def turned_away(self, number: int, status: int) -> None:
        """Note that the act of that number was answered with `status`."""
        row = admin_action.c.id == number
        with answered(self._engine):
            async with self._engine.begin() as connection:
                details = (await connection.execute(select(admin_action.c.details).where(row))).scalar_one()
                change = update(admin_action).where(row).values(details={**details, NOT_DONE: status})
                await connection.execute(change)

    async def search(
        self, *, actor: str = "", action: str = "", target: str = "", before: float | None = None, limit: int = 100
    ) -> Sequence[Act]:
        """Newest first; by whole actor, action and target where given, and older than `before`."""
        columns = admin_action.c
        query = select(*(columns[name] for name in Act.__dataclass_fields__))
        for column, wanted in ((columns.actor, actor), (columns.target, target)):
            if wanted:
                query = query.where(column == wanted)
        if action:
            older = (name for name, now in OLDER_NAMES.items() if now == action)
            query = query.where(columns.action.in_((action, *older)))
        if before is not None:
            query = query.where(columns.at < before)
        query = query.order_by(columns.at.desc(), columns.id.desc()).limit(limit)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [Act(**{**row, "action": OLDER_NAMES.get(row["action"], row["action"])}) for row in rows]

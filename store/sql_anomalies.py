"""The anomaly list in SQL: one open entry per model, whoever lists it and however often."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import exists, literal, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.anomalies import Anomaly, AnomalyStore
from store.documents import from_row, plain
from store.sql_link import answered, insert_new
from store.tables import anomaly


class SqlAnomalies:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def listed(self) -> Sequence[Anomaly]:
        return await self._rows(select(anomaly).where(anomaly.c.left_at == 0.0).order_by(anomaly.c.listed_at))

    async def anomalies(self, model: str | None = None, limit: int = 100) -> Sequence[Anomaly]:
        query = select(anomaly).order_by(anomaly.c.listed_at.desc(), anomaly.c.id).limit(limit)
        return await self._rows(query if model is None else query.where(anomaly.c.model == model))

    async def keep(self, found: Anomaly, *, new: bool) -> bool:
        values: dict[str, Any] = plain(found)
        if not new:
            here = (anomaly.c.id == found.id, anomaly.c.left_at == 0.0)
            with answered(self._engine):
                async with self._engine.begin() as connection:
                    return (await connection.execute(update(anomaly).where(*here).values(values))).rowcount > 0
        listed = exists().where(anomaly.c.model == found.model, anomaly.c.left_at == 0.0)
        with answered(self._engine):
            async with self._engine.begin() as connection:
                if (await connection.execute(select(literal(1)).where(listed))).first() is not None:
                    return False
                # The id names the day: whom a person took off the list does not come back for the same day.
                return (await connection.execute(insert_new(self._engine, anomaly), values)).rowcount > 0

    async def _rows(self, query: Any) -> Sequence[Anomaly]:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(Anomaly, row) for row in rows]


_store: type[AnomalyStore] = SqlAnomalies

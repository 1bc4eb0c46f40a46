"""Hourly and daily counts in SQL: one row per model, scope and span, never replaced by one that saw less."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.window import COUNT_NAMES, Counts
from monitor.rollup import Rollup, RollupStore
from store.sql_link import answered
from store.tables import day_count, hour_count

BATCH = 200


class SqlRollups:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def put_hours(self, rows: Sequence[Rollup]) -> None:
        await self._put(hour_count, rows)

    async def put_days(self, rows: Sequence[Rollup]) -> None:
        await self._put(day_count, rows)

    async def hours(
        self, since: float, until: float, *, model: str | None = None, scope: str | None = None
    ) -> Sequence[Rollup]:
        return await self._rows(hour_count, since, until, model, scope)

    async def days(
        self, since: float, until: float, *, model: str | None = None, scope: str | None = None
    ) -> Sequence[Rollup]:
        return await self._rows(day_count, since, until, model, scope)

    async def _put(self, table: Table, rows: Sequence[Rollup]) -> None:
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        new = dialect.insert(table)
        values = {name: new.excluded[name] for name in ("weight", "counts", "fingerprints", "detectors")}
        write = new.on_conflict_do_update(
            index_elements=["model", "scope", "starts_at"], set_=values, where=new.excluded.weight >= table.c.weight
        )
        with answered(self._engine):
            async with self._engine.begin() as connection:
                for start in range(0, len(rows), BATCH):
                    await connection.execute(write, [_values(row) for row in rows[start : start + BATCH]])

    async def _rows(
        self, table: Table, since: float, until: float, model: str | None, scope: str | None
    ) -> Sequence[Rollup]:
        query = select(table).where(table.c.starts_at >= since, table.c.starts_at < until)
        if model is not None:
            query = query.where(table.c.model == model)
        if scope is not None:
            query = query.where(table.c.scope == scope)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query.order_by(table.c.starts_at, table.c.id))).mappings().all()
        return [rollup_of(dict(row)) for row in rows]


def rollup_of(row: dict[str, Any]) -> Rollup:
    """The record in a row; counters that only another release knows are skipped."""
    counts = {name: int(value) for name, value in row["counts"].items() if name in COUNT_NAMES}
    return Rollup(
        model=row["model"],
        scope=row["scope"],
        starts_at=float(row["starts_at"]),
        counts=Counts(**counts),
        fingerprints=row["fingerprints"],
        detectors=tuple(row["detectors"] or ()),
    )


def _values(row: Rollup) -> dict[str, Any]:
    return {
        "model": row.model,
        "scope": row.scope,
        "starts_at": row.starts_at,
        "weight": row.weight,
        "counts": {name: value for name, value in asdict(row.counts).items() if value},
        "fingerprints": dict(row.fingerprints),
        "detectors": list(row.detectors) or None,
    }


_store: type[RollupStore] = SqlRollups

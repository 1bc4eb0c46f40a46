"""Daily reports in SQL: documents by day, from which every form and language is drawn again. Methods raise StoreUnavailable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.seen import Tally
from monitor.nightly.ports import Reports
from store.sql_link import answered
from store.tables import call, failed_reply, report


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEntry:
    """One kept report, without its document."""

    day: str
    at: float
    run_id: str


class SqlReports:
    """One report for each day; a later one of the same day takes its place."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def keep(self, day: str, at: float, run_id: str, document: Mapping[str, Any]) -> None:
        values = {"day": day, "at": at, "run_id": run_id, "document": dict(document)}
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await connection.execute(delete(report).where(report.c.day == day))
                await connection.execute(report.insert(), values)

    async def report(self, day: str) -> Mapping[str, Any] | None:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                row = (await connection.execute(select(report.c.document).where(report.c.day == day))).first()
        return dict(row[0]) if row else None

    async def reports(self, limit: int = 60) -> Sequence[ReportEntry]:
        """Newest day first."""
        query = select(report.c.day, report.c.at, report.c.run_id).order_by(report.c.day.desc()).limit(limit)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [ReportEntry(**row) for row in rows]

    async def live(self, since: float, until: float) -> Mapping[str, Tally]:
        """By model: requests it answered in the time, and replies of it that repeated themselves."""
        served = (
            select(call.c.served_model, func.count())
            .where(call.c.at >= since, call.c.at < until)
            .group_by(call.c.served_model)
        )
        looped = (
            select(failed_reply.c.model, func.count())
            .where(failed_reply.c.at >= since, failed_reply.c.at < until, failed_reply.c.loop_class != "")
            .group_by(failed_reply.c.model)
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                good = {model: count for model, count in (await connection.execute(served)).all() if model}
                bad = {model: count for model, count in (await connection.execute(looped)).all() if model}
        return {m: Tally(good.get(m, 0) + bad.get(m, 0), bad.get(m, 0)) for m in sorted({*good, *bad})}


_reports: type[Reports] = SqlReports

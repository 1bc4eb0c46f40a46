"""The console's port over daily reports and evaluation runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncEngine

from console.ports import EvalRun, ReportDay, Reports
from monitor.report.document import UnreadableReport, from_document
from monitor.report.html import render
from store.sql_evals import SqlEvals
from store.sql_reports import SqlReports


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReports:
    """All methods raise StoreUnavailable."""

    engine: AsyncEngine

    async def days(self, limit: int) -> Sequence[ReportDay]:
        found = await SqlReports(self.engine).reports(limit)
        return [ReportDay(day=one.day, at=one.at, run_id=one.run_id) for one in found]

    async def html(self, day: str, language: str) -> str | None:
        document = await SqlReports(self.engine).report(day)
        if document is None:
            return None
        try:
            return render(from_document(document), "zh" if language == "zh" else "en")
        except UnreadableReport:
            return None

    async def runs(self, limit: int) -> Sequence[EvalRun]:
        return [
            EvalRun(
                id=run.id,
                suite=f"{run.suite} {run.suite_version}".strip(),
                state=run.state.value,
                started_at=run.started_at,
                ended_at=run.ended_at,
                detail=run.detail,
            )
            for run in await SqlEvals(self.engine).runs(limit)
        ]


_reports: type[Reports] = KeptReports

"""The console's port over daily reports, evaluation runs and their single answers."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from sqlalchemy.ext.asyncio import AsyncEngine

from console.report_ports import EvalModel, EvalResult, EvalRun, ReportDay, Reports
from monitor.nightly.records import Result, Run
from monitor.report.document import UnreadableReport, from_document
from monitor.report.html import render
from store.sql_eval_results import Only, SqlEvalResults
from store.sql_evals import SqlEvals
from store.sql_reports import SqlReports

SHOWN = tuple(one.name for one in fields(EvalResult))
WORDS = frozenset(only.value for only in Only)


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
        return [run_shown(run) for run in await SqlEvals(self.engine).runs(limit)]

    async def run(self, id: str) -> EvalRun | None:
        found = await SqlEvals(self.engine).run(id)
        return run_shown(found) if found is not None else None

    async def models(self, run_id: str) -> Sequence[EvalModel]:
        found = await SqlEvalResults(self.engine).models(run_id)
        return [EvalModel(**{one.name: getattr(counts, one.name) for one in fields(EvalModel)}) for counts in found]

    async def results(
        self, run_id: str, *, model: str = "", lure: str = "", only: str = "", limit: int = 100, offset: int = 0
    ) -> Sequence[EvalResult]:
        found = await SqlEvalResults(self.engine).page(
            run_id, model=model, lure=lure, only=Only(only) if only in WORDS else None, limit=limit, offset=offset
        )
        return [result_shown(one) for one in found]

    async def result(self, run_id: str, model: str, prompt_id: str, round: int) -> EvalResult | None:
        found = await SqlEvalResults(self.engine).one(run_id, model, prompt_id, round)
        return result_shown(found) if found is not None else None


def run_shown(run: Run) -> EvalRun:
    return EvalRun(
        id=run.id,
        suite=f"{run.suite} {run.suite_version}".strip(),
        state=run.state.value,
        started_at=run.started_at,
        ended_at=run.ended_at,
        detail=run.detail,
        trigger=run.trigger.value,
        models=run.models,
        prompts=run.prompts,
        sampled=run.sampled,
        detector_version=run.detector_version,
        parameters=run.parameters,
    )


def result_shown(result: Result) -> EvalResult:
    return EvalResult(**{name: getattr(result, name) for name in SHOWN})


_reports: type[Reports] = KeptReports

"""Evaluation runs in SQL: what was asked of which model, what came of it, and the baselines pinned.

A result is unique on (run, model, prompt, round), so two leaders that both believe to run the night write each once.
All methods raise StoreUnavailable.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Integer, cast, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.seen import Tally
from monitor.nightly.ports import Runs
from monitor.nightly.records import Baseline, Result, Run, RunState
from store.documents import from_row, plain
from store.sql_link import RowRefused, answered, insert_new
from store.sql_queue import fitting
from store.tables import eval_baseline, eval_result, eval_run

BATCH_ROWS = 200
PIN_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class NightPoint:
    """One model in one finished run: the first round's figures."""

    run_id: str
    at: float
    model: str
    tally: Tally
    cost: float
    tokens_out: int
    asked: int


class SqlEvals:
    """Runs, results and baselines."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def begin(self, run: Run) -> Run:
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await connection.execute(insert_new(self._engine, eval_run), fitting(eval_run, plain(run)))
                row = (await connection.execute(select(eval_run).where(eval_run.c.id == run.id))).mappings().one()
        return from_row(Run, row)

    async def finish(self, run_id: str, state: RunState, at: float, detail: str = "") -> bool:
        change = (
            update(eval_run)
            .where(eval_run.c.id == run_id, eval_run.c.state == RunState.RUNNING.value)
            .values(state=state.value, ended_at=at, detail=detail)
        )
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(change)).rowcount > 0

    async def run(self, run_id: str) -> Run | None:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                row = (await connection.execute(select(eval_run).where(eval_run.c.id == run_id))).mappings().first()
        return from_row(Run, row) if row else None

    async def runs(self, limit: int = 50) -> Sequence[Run]:
        query = select(eval_run).order_by(eval_run.c.started_at.desc(), eval_run.c.id.desc()).limit(limit)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(Run, row) for row in rows]

    async def add(self, results: Sequence[Result]) -> None:
        rows = [fitting(eval_result, plain(result)) for result in results]
        with answered(self._engine):
            async with self._engine.begin() as connection:
                for low in range(0, len(rows), BATCH_ROWS):
                    await connection.execute(insert_new(self._engine, eval_result), rows[low : low + BATCH_ROWS])

    async def results(self, run_id: str) -> Sequence[Result]:
        query = (
            select(eval_result)
            .where(eval_result.c.run_id == run_id)
            .order_by(eval_result.c.model, eval_result.c.prompt_id, eval_result.c.round)
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(Result, row) for row in rows]

    async def history(self, since: float, until: float) -> Sequence[NightPoint]:
        """Every model of every whole nightly run that began in the time, oldest first: a run belongs to the day it began on."""
        counted, ill = cast(eval_result.c.counted, Integer), cast(eval_result.c.ill, Integer)
        query = (
            select(
                eval_run.c.id,
                eval_run.c.started_at,
                eval_result.c.model,
                func.sum(counted),
                func.sum(counted * ill),
                func.sum(eval_result.c.cost),
                func.sum(eval_result.c.tokens_out),
                func.count(),
            )
            .join(eval_result, eval_result.c.run_id == eval_run.c.id)
            .where(
                eval_run.c.started_at >= since,
                eval_run.c.started_at < until,
                eval_run.c.state == RunState.DONE.value,
                eval_run.c.trigger == "nightly",
                eval_result.c.round == 1,
            )
            .group_by(eval_run.c.id, eval_run.c.started_at, eval_result.c.model)
            .order_by(eval_run.c.started_at, eval_result.c.model)
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).all()
        return [
            NightPoint(
                run_id=run_id,
                at=at,
                model=model,
                tally=Tally(int(n or 0), int(k or 0)),
                cost=float(cost or 0.0),
                tokens_out=int(tokens or 0),
                asked=int(asked),
            )
            for run_id, at, model, n, k, cost, tokens, asked in rows
        ]

    async def pin(self, baseline: Baseline) -> Baseline:
        last: RowRefused | None = None
        for _ in range(PIN_TRIES):
            newest = await self.baseline(baseline.model, baseline.suite_version, baseline.detector_version)
            numbered = replace(baseline, version=newest.version + 1 if newest else 1)
            try:
                with answered(self._engine):
                    async with self._engine.begin() as connection:
                        await connection.execute(insert(eval_baseline), fitting(eval_baseline, plain(numbered)))
                return numbered
            except RowRefused as error:
                last = error  # somebody pinned the same version just now
        assert last is not None
        raise last

    async def baselines(self) -> Sequence[Baseline]:
        query = select(eval_baseline).order_by(eval_baseline.c.version)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        newest: dict[tuple[str, str, str], Baseline] = {}
        for row in rows:
            one = from_row(Baseline, row)
            newest[one.model, one.suite_version, one.detector_version] = one
        return sorted(newest.values(), key=lambda one: (one.model, -one.pinned_at))

    async def baseline(self, model: str, suite_version: str, detector_version: str) -> Baseline | None:
        query = (
            select(eval_baseline)
            .where(
                eval_baseline.c.model == model,
                eval_baseline.c.suite_version == suite_version,
                eval_baseline.c.detector_version == detector_version,
            )
            .order_by(eval_baseline.c.version.desc())
            .limit(1)
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                row = (await connection.execute(query)).mappings().first()
        return from_row(Baseline, row) if row else None

    async def forget(self, before: float) -> int:
        """Delete runs that began before then, with their results, unless a baseline stands on one; results that went."""
        kept = select(eval_baseline.c.run_id)
        old = select(eval_run.c.id).where(eval_run.c.started_at < before, eval_run.c.id.not_in(kept))
        with answered(self._engine):
            async with self._engine.begin() as connection:
                gone = await connection.execute(delete(eval_result).where(eval_result.c.run_id.in_(old)))
                await connection.execute(
                    delete(eval_run).where(eval_run.c.started_at < before, eval_run.c.id.not_in(kept))
                )
        return gone.rowcount

    async def forget_texts(self, before: float) -> int:
        """Empty the texts of answers of before then that did not repeat themselves; how many."""
        c = eval_result.c
        old = update(eval_result).where(c.at < before, c.ill.is_(False), c.reply != "").values(asked="", reply="")
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(old)).rowcount


_runs: type[Runs] = SqlEvals

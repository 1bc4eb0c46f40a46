"""The single answers of an evaluation run, read page by page: what a person looks through on the console or the shell.

In:  run, filters, page.  Out: Results, those that repeat first; a summary per model. All methods raise StoreUnavailable.
Reads only; results are written by sql_evals.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import ColumnElement, Integer, and_, case, cast, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.nightly.records import Result
from store.documents import from_row
from store.sql_link import answered
from store.tables import eval_result


class Only(StrEnum):
    """Which answers are asked for."""

    ILL = "ill"  # judged, and it repeats itself
    WRONG = "wrong"  # JSON was asked for, and it is not right
    UNJUDGED = "unjudged"  # no judged reply: refused, failed, garbled


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCounts:
    """One model in one run, over all rounds."""

    model: str
    asked: int
    judged: int
    ill: int
    json_asked: int
    json_valid: int
    json_right: int


_ILL = and_(eval_result.c.counted, eval_result.c.ill)
_ONLY: dict[Only, ColumnElement[bool]] = {
    Only.ILL: _ILL,
    Only.WRONG: eval_result.c.content_ok.is_(False),
    Only.UNJUDGED: eval_result.c.counted.is_(False),
}


class SqlEvalResults:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def page(
        self,
        run_id: str,
        *,
        model: str = "",
        lure: str = "",
        only: Only | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Sequence[Result]:
        """Those that repeat first, then by model, prompt and round."""
        c = eval_result.c
        query = (
            select(eval_result)
            .where(c.run_id == run_id)
            .order_by(case((_ILL, 0), else_=1), c.model, c.prompt_id, c.round)
            .limit(limit)
            .offset(offset)
        )
        if model:
            query = query.where(c.model == model)
        if lure:
            query = query.where(c.lure == lure)
        if only is not None:
            query = query.where(_ONLY[only])
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(Result, row) for row in rows]

    async def one(self, run_id: str, model: str, prompt_id: str, round_: int) -> Result | None:
        c = eval_result.c
        query = select(eval_result).where(
            c.run_id == run_id, c.model == model, c.prompt_id == prompt_id, c.round == round_
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                row = (await connection.execute(query)).mappings().first()
        return from_row(Result, row) if row else None

    async def models(self, run_id: str) -> Sequence[ModelCounts]:
        """Every model that has an answer, by name."""
        c = eval_result.c

        def many(holds: ColumnElement[bool]) -> ColumnElement[int]:
            return func.sum(cast(case((holds, 1), else_=0), Integer))

        query = (
            select(
                c.model,
                func.count(),
                many(c.counted.is_(True)),
                many(_ILL),
                many(c.parsed.is_not(None)),
                many(c.schema_ok.is_(True)),
                many(c.content_ok.is_(True)),
            )
            .where(c.run_id == run_id)
            .group_by(c.model)
            .order_by(c.model)
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).all()
        return [
            ModelCounts(
                model=model,
                asked=int(asked),
                judged=int(judged or 0),
                ill=int(ill or 0),
                json_asked=int(json or 0),
                json_valid=int(valid or 0),
                json_right=int(right or 0),
            )
            for model, asked, judged, ill, json, valid, right in rows
        ]

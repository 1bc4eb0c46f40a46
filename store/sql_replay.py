"""Stored calls and failed replies as the replay reads them, and a person's mark on a verdict.

Only excerpts of failed replies are kept as text; of a call that went well its figures are. All methods raise StoreUnavailable.
"""

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, RowMapping, Select, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.replay.records import LABELS, Stored
from store.sql_link import answered
from store.tables import call, failed_reply

PAGE = 2_000


class Mark(StrEnum):
    """What a person says of a verdict that flagged a reply."""

    RIGHT = "right"
    WRONG = "wrong"
    NONE = ""


class SqlReplay:
    def __init__(self, engine: AsyncEngine, page: int = PAGE) -> None:
        self._engine, self._page = engine, page

    async def replies(self, since: float, until: float, *, model: str | None = None) -> AsyncIterator[Stored]:
        """Every judged reply of the time, first those that failed, then those that went well; each kind oldest first."""
        failed: set[tuple[str, str]] = set()
        async for reply, request_id in self._failed(since, until, model):
            failed.add((request_id, reply.model))
            yield reply
        async for reply in self._calls(since, until, model):
            # A reply that was cleaned and sent stands in both tables.
            if (reply.id, reply.model) not in failed:
                yield reply

    async def marked(self, since: float, until: float) -> AsyncIterator[Stored]:
        """Only the replies that somebody marked: the labelled set."""
        async for reply, _ in self._failed(since, until, None):
            if reply.truth is not None:
                yield reply

    async def mark(self, reply: str, mark: Mark) -> int:
        """Mark the failed replies of a request, or the one of that id; how many there were."""
        change = update(failed_reply).where(or_(failed_reply.c.id == reply, failed_reply.c.request_id == reply))
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(change.values(marked=mark.value))).rowcount

    async def _failed(self, since: float, until: float, model: str | None) -> AsyncIterator[tuple[Stored, str]]:
        query = select(failed_reply).where(failed_reply.c.loop_class != "")
        if model is not None:
            query = query.where(failed_reply.c.model == model)
        async for row in self._pages(query, failed_reply.c.at, failed_reply.c.id, since, until):
            stored = Stored(
                id=row["id"],
                text=row["excerpt"] or None,
                at=row["at"],
                model=row["model"],
                scene=row["scene"],
                truth=LABELS.get(row["marked"]),
                said=True,
                metrics=dict(row["metrics"] or {}),
            )
            yield stored, row["request_id"]

    async def _calls(self, since: float, until: float, model: str | None) -> AsyncIterator[Stored]:
        # A call that no model answered has no metrics: nothing of it was judged.
        query = select(call).where(call.c.served_model != "", call.c.status < 400)
        if model is not None:
            query = query.where(call.c.served_model == model)
        async for row in self._pages(query, call.c.at, call.c.request_id, since, until):
            if row["metrics"]:
                yield Stored(
                    id=row["request_id"],
                    text=None,
                    at=row["at"],
                    model=row["served_model"],
                    scene=row["scene"],
                    said=row["verdict"] == "degenerate",
                    metrics=dict(row["metrics"]),
                )

    async def _pages(
        self, query: Select[Any], at: Column[Any], key: Column[Any], since: float, until: float
    ) -> AsyncIterator[RowMapping]:
        """Rows of that time, oldest first, a page at a time: by where the last one ended, so that no page is skipped."""
        after: tuple[float, str] = (since, "")
        while True:
            later = or_(at > after[0], (at == after[0]) & (key > after[1]))
            page = query.where(later, at < until).order_by(at, key).limit(self._page)
            with answered(self._engine):
                async with self._engine.connect() as connection:
                    rows = (await connection.execute(page)).mappings().all()
            for row in rows:
                yield row
            if len(rows) < self._page:
                return
            after = rows[-1][at.name], rows[-1][key.name]

"""What people said of replies, in SQL: written in batches off the request path, read by the monitor.

Feedback that came while SQL was away waits on disk, also across a restart, and is bound to the model that answered when SQL
is back; if no such request turns up within a minute of the first answer (its own row may wait in another replica's queue)
it is counted as `unknown` and forgotten.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping, Select, delete, distinct, func, literal, select
from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import Clock
from base.feedback import FeedbackKind
from breaker.ports import StoreUnavailable
from monitor.complaints import Complaint, Complaints, Tally
from router.ports import Answered, Feedback, FeedbackLog
from store.documents import from_json, from_row, plain, to_json
from store.spool import Spool
from store.sql_link import answered
from store.sql_queue import QUEUE_ROWS, Row, RowQueue
from store.tables import call, feedback

BIND_WITHIN_S = 60.0
"""Longer than the longest wait between two batches of the call log (10 s) and a missed one or two."""
BIND_AT_ONCE = 500
UNBOUND = "feedback not bound yet"
"""In the spool in the place of a table's name."""
_CALL = (call.c.request_id, call.c.app, call.c.served_model.label("model"), call.c.route, call.c.scene, call.c.at)


class SqlFeedbackLog(RowQueue):
    """One per process. `unknown` counts feedback whose request never turned up."""

    def __init__(
        self, engine: AsyncEngine, clock: Clock, *, queue_rows: int = QUEUE_ROWS, spool: Spool | None = None
    ) -> None:
        super().__init__(engine, (feedback,), queue_rows=queue_rows, spool=spool)
        self._clock = clock
        self._unbound: deque[Feedback] = deque()
        self._first_asked: dict[str, float] = {}
        """When SQL first said, by a word's id, that it knows no such request."""
        self.unknown = 0

    @property
    def waiting(self) -> int:
        return len(self._queue) + len(self._unbound)

    def add(self, feedback: Feedback) -> None:
        if feedback.answered is not None:
            self._bound(feedback, feedback.answered)
        elif self.waiting < self._queue_rows:
            self._unbound.append(feedback)
        else:
            self.dropped += 1

    async def flush(self) -> None:
        await self._bind()
        await super().flush()

    async def spill(self) -> None:
        await super().spill()
        if self._spool is None or not self._unbound:
            return
        async with self._writing:
            records = [to_json((UNBOUND, plain(said))) for said in self._unbound]
            try:
                kept = await asyncio.to_thread(self._spool.append, records)
            except OSError as error:
                self._disk_failed(error)
                return
            for _ in range(kept):
                self._unbound.popleft()

    async def close(self) -> None:
        await super().close()
        self.dropped += len(self._unbound)
        self._unbound.clear()

    def _row(self, record: bytes) -> Row | None:
        try:
            name, said = from_json(tuple[str, Any], record)
            if name != UNBOUND:
                return super()._row(record)
            self.add(from_row(Feedback, said))
        except StoreUnavailable:
            self.refused += 1
        return None

    async def answered(self, request_id: str) -> Answered | None:
        found = await self._rows(select(*_CALL).where(call.c.request_id == request_id))
        return from_row(Answered, found[0]) if found else None

    async def near(self, app: str, session: str, at: float, within_s: float) -> Answered | None:
        distance = func.abs(call.c.at - at)
        found = await self._rows(
            select(*_CALL)
            .where(call.c.app == app, call.c.session == session, call.c.at.between(at - within_s, at + within_s))
            .order_by(distance, call.c.request_id)
            .limit(1)
        )
        return from_row(Answered, found[0]) if found else None

    async def filed(self, app: str, user_hash: str, request_id: str) -> bool:
        same = (feedback.c.app == app, feedback.c.user_hash == user_hash, feedback.c.request_id == request_id)
        return bool(await self._rows(select(literal(1)).where(*same)))

    async def _rows(self, query: Select[Any]) -> Sequence[RowMapping]:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows: Sequence[RowMapping] = (await connection.execute(query)).mappings().all()
        return rows

    def _bound(self, said: Feedback, to: Answered) -> None:
        values = {
            "id": said.id,
            "request_id": said.request_id,
            "model": to.model,
            "app": to.app,
            "user_hash": said.user_hash,
            "at": said.at,
            "asked_at": to.at,
            "kind": said.kind.value,
            "source": said.source.value,
            "route": to.route,
            "scene": to.scene,
            "note": said.note,
        }
        self.put(feedback, values)

    async def _bind(self) -> None:
        """Look up whom the unbound speak of. Raises StoreUnavailable; they then wait on."""
        if not self._unbound:
            return
        asked = [self._unbound[i] for i in range(min(BIND_AT_ONCE, len(self._unbound)))]
        ids = {said.request_id for said in asked}
        found = {row["request_id"]: row for row in await self._rows(select(*_CALL).where(call.c.request_id.in_(ids)))}
        now_s = self._clock.now_s()
        for said in asked:
            self._unbound.popleft()
            row = found.get(said.request_id)
            if row is not None and row["app"] == said.app:
                self._bound(said, from_row(Answered, row))
            elif row is None and now_s - self._first_asked.setdefault(said.id, now_s) < BIND_WITHIN_S:
                self._unbound.append(said)
                continue
            else:
                self.unknown += 1
            self._first_asked.pop(said.id, None)


class SqlComplaints:
    """The monitor's side. All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def tallies(self, since: float, until: float) -> Sequence[Tally]:
        span = (feedback.c.at >= since, feedback.c.at < until, feedback.c.model != "")
        # One hash per person already holds the app (router/feedback.py), so distinct hashes are distinct people.
        people = func.count(distinct(feedback.c.user_hash)).label("users")
        bad = feedback.c.kind != FeedbackKind.GOOD.value
        by_model = select(feedback.c.model, people).where(*span, bad).group_by(feedback.c.model)
        by_kind = select(feedback.c.model, feedback.c.kind, func.count().label("n")).where(*span)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                users = {row.model: row.users for row in await connection.execute(by_model)}
                kinds = (await connection.execute(by_kind.group_by(feedback.c.model, feedback.c.kind))).all()
        counted: dict[str, dict[FeedbackKind, int]] = {}
        for row in kinds:
            counted.setdefault(row.model, {})[FeedbackKind(row.kind)] = row.n
        return sorted((_tally(m, users.get(m, 0), k) for m, k in counted.items()), key=lambda t: (-t.users, t.model))

    async def samples(self, model: str, since: float, until: float, limit: int = 20) -> Sequence[Complaint]:
        query = (
            select(feedback)
            .where(feedback.c.model == model, feedback.c.at >= since, feedback.c.at < until)
            .where(feedback.c.kind != FeedbackKind.GOOD.value)
            .order_by(feedback.c.at.desc(), feedback.c.id)
            .limit(limit)
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(Complaint, row) for row in rows]

    async def forget(self, before: float) -> int:
        """Delete what was filed before `before`; the number of rows that went."""
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(delete(feedback).where(feedback.c.at < before))).rowcount


def _tally(model: str, users: int, by_kind: Mapping[FeedbackKind, int]) -> Tally:
    complaints = sum(n for kind, n in by_kind.items() if kind.complaint)
    return Tally(model=model, complaints=complaints, users=users, by_kind=by_kind)


_log: type[FeedbackLog] = SqlFeedbackLog
_complaints: type[Complaints] = SqlComplaints

"""The slots of the clock jobs: a row unique on (job, slot) makes each run once, whoever believes to be the leader.

Posture when SQL is gone: StoreUnavailable; a job whose slot cannot be claimed does not run.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.jobs import JobRun, RunState
from monitor.ports import JobSlots
from store.documents import from_row
from store.sql_link import answered, insert_new
from store.tables import job_run

HAND = "hand-"
AHEAD_S = 3_600.0
"""A slot from further ahead was written on another clock (a demo's, a wrong one) and says nothing of this one."""
COLUMNS = [job_run.c[name] for name in JobRun.__dataclass_fields__]


class SqlJobs:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def claim(self, job: str, slot: str, owner: str, fence: int, now: float, *, due_at: float) -> int | None:
        """The number of this try, if `owner` may run the slot.

        A slot still marked running goes to whoever comes with a higher fence: the earlier leader lost its lease in
        the middle of it (BREAKER.md, Redis, Leader). An ended slot is run again only if it failed and is to be.
        """
        key = (job_run.c.job == job, job_run.c.slot == slot)
        new = _row(job, slot, due_at, RunState.RUNNING, now, owner=owner, fence=fence, tries=1)
        again = (
            update(job_run)
            .where(*key, _open(now, fence))
            .values(
                owner=owner, fence=fence, state=RunState.RUNNING, tries=job_run.c.tries + 1, started_at=now,
                ended_at=None, retry_at=None,
            )
        )  # fmt: skip
        with answered(self._engine):
            async with self._engine.begin() as connection:
                if (await connection.execute(insert_new(self._engine, job_run), new)).rowcount > 0:
                    return 1
                if (await connection.execute(again)).rowcount == 0:
                    return None
                return int((await connection.execute(select(job_run.c.tries).where(*key))).scalar_one())

    async def finish(
        self, job: str, slot: str, fence: int, now: float, *, error: str = "", retry_at: float | None = None
    ) -> bool:
        """Mark the slot done, or failed with `error`. False: a later leader has taken it over; its word counts."""
        change = (
            update(job_run)
            .where(
                job_run.c.job == job,
                job_run.c.slot == slot,
                job_run.c.fence == fence,
                job_run.c.state == RunState.RUNNING,
            )
            .values(
                state=RunState.FAILED if error else RunState.DONE, detail=error, ended_at=now, retry_at=retry_at
            )
        )  # fmt: skip
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(change)).rowcount > 0

    async def note(self, job: str, slot: str, state: RunState, now: float, *, due_at: float, detail: str = "") -> bool:
        """Write a slot that nobody runs: known, asked or missed. False: there is one of that name."""
        row = _row(job, slot, due_at, state, now, detail=detail)
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(insert_new(self._engine, job_run), row)).rowcount > 0

    async def newest(self, jobs: Sequence[str], now: float) -> Mapping[str, float]:
        """When the newest slot of each job was due, as far as one is known; what people asked for does not count."""
        query = (
            select(job_run.c.job, func.max(job_run.c.due_at))
            .where(job_run.c.job.in_(jobs), job_run.c.slot.not_like(f"{HAND}%"), job_run.c.due_at <= now + AHEAD_S)
            .group_by(job_run.c.job)
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                return {job: float(due_at) for job, due_at in (await connection.execute(query)).all()}

    async def open(self, now: float, fence: int) -> Sequence[JobRun]:
        """Slots that a leader of that fence may claim: asked for, failed and to be tried again, left running."""
        return await self._runs(select(*COLUMNS).where(_open(now, fence)).order_by(job_run.c.due_at, job_run.c.id))

    async def last(self, job: str | None = None, limit: int = 50) -> Sequence[JobRun]:
        """Newest first; of one job if given."""
        query = select(*COLUMNS)
        if job is not None:
            query = query.where(job_run.c.job == job)
        return await self._runs(query.order_by(job_run.c.started_at.desc(), job_run.c.id.desc()).limit(limit))

    async def forget(self, before: float) -> int:
        """Delete ended slots that were due before then; the newest of each job stays, because it says what is due next."""
        by_clock = job_run.c.slot.not_like(f"{HAND}%")
        newest = select(func.max(job_run.c.id)).where(by_clock).group_by(job_run.c.job).scalar_subquery()
        stale = delete(job_run).where(
            job_run.c.due_at < before,
            job_run.c.state.not_in([RunState.RUNNING, RunState.ASKED]),
            job_run.c.id.not_in(newest),
        )
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(stale)).rowcount

    async def _runs(self, query: Any) -> Sequence[JobRun]:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(JobRun, row) for row in rows]


def _open(now: float, fence: int) -> Any:
    state, running = job_run.c.state, job_run.c.fence < fence
    return or_(
        state == RunState.ASKED,
        and_(state == RunState.RUNNING, running),
        and_(state == RunState.FAILED, job_run.c.retry_at <= now),
    )


def _row(
    job: str, slot: str, due_at: float, state: RunState, now: float, *, owner: str = "", fence: int = 0,
    tries: int = 0, detail: str = "",
) -> dict[str, Any]:  # fmt: skip
    return {
        "job": job, "slot": slot, "due_at": due_at, "owner": owner, "fence": fence, "state": state, "tries": tries,
        "detail": detail, "started_at": now,
    }  # fmt: skip


_slots: type[JobSlots] = SqlJobs

"""The slots of the clock jobs: a row unique on (job, slot) makes each run once, whoever believes to be the leader.

Posture when SQL is gone: StoreUnavailable; a job whose slot cannot be claimed does not run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.ports import JobSlots
from store.sql_link import answered, insert_new
from store.tables import job_run

RUNNING, DONE, FAILED = "running", "done", "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """One slot of one job. `state` is running, done or failed; moments are seconds since the epoch."""

    job: str
    slot: str
    owner: str
    fence: int
    state: str
    detail: str
    started_at: float
    ended_at: float | None


class SqlJobs:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def claim(self, job: str, slot: str, owner: str, fence: int, now: float) -> bool:
        """Whether `owner` may run this slot.

        A slot still marked running goes to whoever comes with a higher fence: the earlier leader lost its lease in
        the middle of it (BREAKER.md, Redis, Leader). An ended slot is never run again.
        """
        new = {"job": job, "slot": slot, "owner": owner, "fence": fence, "state": RUNNING, "started_at": now}
        same = (job_run.c.job == job, job_run.c.slot == slot, job_run.c.state == RUNNING, job_run.c.fence < fence)
        with answered():
            async with self._engine.begin() as connection:
                if (await connection.execute(insert_new(self._engine, job_run), new)).rowcount > 0:
                    return True
                taken = update(job_run).where(*same).values(owner=owner, fence=fence, started_at=now)
                return (await connection.execute(taken)).rowcount > 0

    async def finish(self, job: str, slot: str, fence: int, now: float, *, error: str = "") -> bool:
        """Mark the slot done, or failed with `error`. False: a later leader has taken it over; its word counts."""
        change = (
            update(job_run)
            .where(job_run.c.job == job, job_run.c.slot == slot, job_run.c.fence == fence, job_run.c.state == RUNNING)
            .values(state=FAILED if error else DONE, detail=error, ended_at=now)
        )
        with answered():
            async with self._engine.begin() as connection:
                return (await connection.execute(change)).rowcount > 0

    async def last(self, job: str | None = None, limit: int = 50) -> Sequence[JobRun]:
        """Newest first; of one job if given."""
        query = select(*(job_run.c[name] for name in JobRun.__dataclass_fields__))
        if job is not None:
            query = query.where(job_run.c.job == job)
        query = query.order_by(job_run.c.started_at.desc(), job_run.c.id.desc()).limit(limit)
        with answered():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [JobRun(**row) for row in rows]


_slots: type[JobSlots] = SqlJobs

"""Admin JSON of the clock jobs: when each runs next, how it ran last, and a run by hand."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Depends
from pydantic import Field

from console.access import Identity
from console.api import Act
from console.fleet_ports import Audit
from console.gatekeeper import AdminError, Gate, actor_of


class JobRefused(Exception):
    """A run by hand makes no sense now. `why`: a key of the locale below `jobs.`; the message says it in English."""

    def __init__(self, why: str, message: str) -> None:
        super().__init__(message)
        self.why = why


class ClockJobs(Protocol):
    """All methods raise breaker.ports.StoreUnavailable."""

    def names(self) -> Sequence[str]: ...

    async def jobs(self) -> Sequence[Mapping[str, Any]]:
        """Each job: name, cron, timezone, next_at, running, and `last`, its newest run or None."""
        ...

    async def runs(self, name: str, limit: int) -> Sequence[Mapping[str, Any]]:
        """Runs of one job, newest first."""
        ...

    async def ask(self, name: str, actor: str) -> str:
        """Ask the leader for a run now; the slot's name. Raises JobRefused."""
        ...


def jobs_routes(jobs: ClockJobs, audit: Audit, gate: Gate) -> APIRouter:
    """Routes below /admin."""
    routes = APIRouter(prefix="/admin", dependencies=[Depends(gate.viewer)])

    def known(name: str) -> None:
        if name not in jobs.names():
            told = f"no clock job {name!r}: one of {', '.join(jobs.names())}"
            raise AdminError(404, "job_not_found", told, "name")

    @routes.get("/jobs")
    async def listed() -> dict[str, Any]:
        return {"jobs": list(await jobs.jobs())}

    @routes.get("/jobs/{name}")
    async def runs(name: str, limit: Annotated[int, Field(ge=1, le=1000)] = 50) -> dict[str, Any]:
        known(name)
        return {"job": name, "runs": list(await jobs.runs(name, limit))}

    @routes.post("/jobs/{name}/run", status_code=202)
    async def run(name: str, act: Act, who: Annotated[Identity, Depends(gate.operator)]) -> dict[str, Any]:
        known(name)
        actor = actor_of(who, act.actor)
        await audit.record(
            actor=actor, role=who.role.value, action="run_job", target=name, reason=act.reason, details={}
        )
        try:
            return {"job": name, "slot": await jobs.ask(name, actor)}
        except JobRefused as refused:
            raise AdminError(409, "job_refused", str(refused), "name") from refused

    return routes

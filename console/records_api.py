"""Admin JSON of the call log: requests found by id or by fields, each with its attempts and what was kept of failed replies."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import Field

from console.gatekeeper import AdminError, Gate
from console.record_ports import Asked, Records, Sought

Word = Annotated[str, Field(max_length=128)]


def records_routes(records: Records, gate: Gate) -> APIRouter:
    """Routes below /admin."""
    routes = APIRouter(prefix="/admin", dependencies=[Depends(gate.viewer)])

    @routes.get("/requests")
    async def requests(
        id: Word = "",
        app: Word = "",
        route: Word = "",
        scene: Word = "",
        model: Word = "",
        session: Word = "",
        fallback: Word = "",
        trouble: bool = False,
        since: float = 0.0,
        before: float | None = None,
        limit: Annotated[int, Field(ge=1, le=1000)] = 100,
    ) -> dict[str, Any]:
        sought = Sought(
            request_id=id,
            app=app,
            route=route,
            scene=scene,
            model=model,
            session=session,
            fallback=fallback,
            trouble=trouble,
            since=since,
            before=before,
        )
        return {"requests": [_told(one) for one in await records.requests(sought, limit)]}

    @routes.get("/requests/{id}")
    async def request(id: Word) -> dict[str, Any]:
        found = await records.requests(Sought(request_id=id), 2)
        if len(found) != 1:
            many = "more than one request begins so" if found else "no request of that id is kept"
            raise AdminError(404, "request_not_found", f"{many}: {id}", "id")
        failed = await records.failed(request_id=found[0].request_id)
        return {"request": _told(found[0]), "failed": [asdict(one) for one in failed]}

    return routes


def _told(one: Asked) -> dict[str, Any]:
    out = asdict(one)
    out["attempts"] = out.pop("tries")
    return out

"""Admin JSON: the settings in force, in this process and in the others, and reading them anew.

GET /admin/config (viewer)   POST /admin/reload (admin; the audit log first)
"""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict

from breaker.ports import StoreUnavailable
from console.access import Identity
from console.api import Actor, Reason
from console.config_ports import Configuration
from console.fleet_ports import Audit
from console.gatekeeper import AdminError, Gate, actor_of


class Reload(BaseModel):
    model_config = ConfigDict(extra="forbid")
    reason: Reason
    actor: Actor = ""


def config_routes(configuration: Configuration, audit: Audit, gate: Gate) -> APIRouter:
    routes = APIRouter(prefix="/admin")

    @routes.get("/config", dependencies=[Depends(gate.viewer)])
    async def config() -> dict[str, Any]:
        running = asdict(configuration.running())
        try:
            everywhere = [asdict(process) for process in await configuration.everywhere()]
        except StoreUnavailable:
            return {**running, "processes": [], "store_down": True}
        return {**running, "processes": everywhere, "store_down": False}

    @routes.post("/reload")
    async def reload(act: Reload, who: Annotated[Identity, Depends(gate.admin)]) -> dict[str, Any]:
        before = configuration.running()
        await audit.record(
            actor=actor_of(who, act.actor),
            role=who.role.value,
            action="reload",
            target=before.file,
            reason=act.reason,
            details={"hash_before": before.hash},
        )
        came = await configuration.reload()
        if came.mistakes:
            told = "the file was not taken, the settings in force stay: " + "; ".join(came.mistakes)
            raise AdminError(422, "invalid_settings", told)
        return asdict(came)

    return routes

"""Admin JSON: what operators switch for one route or all of them, with an end, a reason and a line in the audit log.

GET /admin/switches (viewer)   POST /admin/switches (operator)
"""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from base.switch import FLEET, Switch, SwitchMode
from console.access import Identity
from console.api import Actor, Reason
from console.fleet_ports import Audit
from console.gatekeeper import AdminError, Gate, actor_of
from console.switch_ports import Switches

MINUTES = 60.0
"""How long a switch holds unless it is said: none is for ever."""


class Set(BaseModel):
    """`route` left out: the whole fleet. `normal` ends a switch before its time."""

    model_config = ConfigDict(extra="forbid")
    mode: SwitchMode
    route: Annotated[str, Field(max_length=128)] = FLEET
    minutes: Annotated[float, Field(gt=0, le=7 * 24 * 60)] = MINUTES
    reason: Reason
    actor: Actor = ""


def switches_routes(switches: Switches, audit: Audit, gate: Gate) -> APIRouter:
    routes = APIRouter(prefix="/admin")

    @routes.get("/switches", dependencies=[Depends(gate.viewer)])
    async def listed() -> dict[str, Any]:
        return {"switches": [told(switch) for switch in await switches.switches()], "now": switches.now_s()}

    @routes.post("/switches")
    async def set_one(act: Set, who: Annotated[Identity, Depends(gate.operator)]) -> dict[str, Any]:
        if act.route != FLEET and act.route not in switches.routes():
            known = ", ".join(switches.routes())
            raise AdminError(404, "route_not_found", f"no route {act.route!r}: one of {known}", "route")
        now_s, actor = switches.now_s(), actor_of(who, act.actor)
        switch = Switch(
            route=act.route,
            mode=act.mode,
            until=now_s + act.minutes * 60,
            actor=actor,
            reason=act.reason,
            set_at=now_s,
        )
        details = {"mode": act.mode.value, "until": switch.until}
        await audit.record(
            actor=actor,
            role=who.role.value,
            action="switch",
            target=act.route or "fleet",
            reason=act.reason,
            details=details,
        )
        await switches.set(switch)
        return told(switch)

    return routes


def told(switch: Switch) -> dict[str, Any]:
    return {**asdict(switch), "scope": "fleet" if switch.route == FLEET else "route"}

"""Admin JSON of the anomaly list: models that people complain of, with samples; and taking one off by hand."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Depends
from pydantic import Field

from console.access import Identity
from console.api import Act
from console.fleet_ports import Audit
from console.gatekeeper import AdminError, Gate, actor_of


class Anomalies(Protocol):
    """All methods raise breaker.ports.StoreUnavailable."""

    def models(self) -> Sequence[str]: ...

    async def listed(self) -> Sequence[Mapping[str, Any]]:
        """On the list now: model, day, last_bad_day, users, complaints, threshold, expected, chance, clean_days, samples."""
        ...

    async def history(self, model: str | None, limit: int) -> Sequence[Mapping[str, Any]]:
        """Newest first, those that left included (left_at, left_why, left_by)."""
        ...

    async def dismiss(self, model: str, actor: str, why: str) -> bool:
        """False: it is not on the list."""
        ...


def anomaly_routes(anomalies: Anomalies, audit: Audit, gate: Gate) -> APIRouter:
    """Routes below /admin/anomalies."""
    routes = APIRouter(prefix="/admin/anomalies", dependencies=[Depends(gate.viewer)])

    def known(model: str) -> None:
        if model not in anomalies.models():
            told = f"no model {model!r}: one of {', '.join(anomalies.models())}"
            raise AdminError(404, "model_not_found", told, "model")

    @routes.get("")
    async def listed() -> dict[str, Any]:
        return {"anomalies": list(await anomalies.listed())}

    @routes.get("/history")
    async def history(model: str | None = None, limit: Annotated[int, Field(ge=1, le=500)] = 100) -> dict[str, Any]:
        if model is not None:
            known(model)
        return {"anomalies": list(await anomalies.history(model, limit))}

    @routes.post("/{model:path}/dismiss")
    async def dismiss(model: str, act: Act, who: Annotated[Identity, Depends(gate.operator)]) -> dict[str, Any]:
        known(model)
        actor = actor_of(who, act.actor)
        await audit.record(
            actor=actor, role=who.role.value, action="dismiss_anomaly", target=model, reason=act.reason, details={}
        )
        if not await anomalies.dismiss(model, actor, act.reason):
            raise AdminError(409, "not_listed", f"{model!r} is not on the anomaly list", "model")
        return {"model": model, "listed": False}

    return routes

"""Admin JSON of the hourly watch: what it found, and the figures of a model by hour, by scene and by hour of day."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Depends
from pydantic import Field

from console.gatekeeper import AdminError, Gate


class Watched(Protocol):
    """All methods raise breaker.ports.StoreUnavailable. Ratios 0..1, moments in seconds since the epoch."""

    def models(self) -> Sequence[str]: ...

    async def findings(self, model: str | None, kind: str | None, since: float, limit: int) -> Sequence[dict[str, Any]]:
        """Newest first: id, at, kind, model, scene, until, numbers, facts, and `standing`: it marks the model now."""
        ...

    async def hours(self, model: str, hours: int) -> Mapping[str, Any]:
        """`hours`: figures of the last so many hours, oldest first; `scenes`: the same by scene; `profile`: repeats per
        1,000 by hour of day over the last four weeks; `same_hour_last_week` of the newest hour, or None."""
        ...

    async def days(self, model: str, days: int) -> Sequence[Mapping[str, Any]]:
        """Figures of the last so many days, oldest first."""
        ...


def watch_routes(watched: Watched, gate: Gate, kinds: Sequence[str]) -> APIRouter:
    """Routes below /admin. `kinds`: the words that findings may be filtered by."""
    routes = APIRouter(prefix="/admin", dependencies=[Depends(gate.viewer)])

    def known(model: str) -> None:
        if model not in watched.models():
            raise AdminError(
                404, "model_not_found", f"no model {model!r}: one of {', '.join(watched.models())}", "model"
            )

    @routes.get("/findings")
    async def findings(
        model: str | None = None,
        kind: str | None = None,
        since: float = 0.0,
        limit: Annotated[int, Field(ge=1, le=1000)] = 200,
    ) -> dict[str, Any]:
        if model is not None:
            known(model)
        if kind is not None and kind not in kinds:
            raise AdminError(422, "invalid_field", f"kind: one of {', '.join(kinds)}", "kind")
        return {"findings": list(await watched.findings(model, kind, since, limit))}

    @routes.get("/hours")
    async def hours(model: str, hours: Annotated[int, Field(ge=1, le=24 * 62)] = 48) -> dict[str, Any]:
        known(model)
        return {"model": model, **await watched.hours(model, hours)}

    @routes.get("/days")
    async def days(model: str, days: Annotated[int, Field(ge=1, le=730)] = 30) -> dict[str, Any]:
        known(model)
        return {"model": model, "days": list(await watched.days(model, days))}

    return routes

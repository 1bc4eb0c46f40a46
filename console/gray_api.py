"""Admin JSON of gray releases: where each stands, and the acts of an operator, each with a reason and in the audit log."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

from fastapi import APIRouter, Depends
from pydantic import Field

from breaker.gray import GrayRelease
from console.access import Identity
from console.api import Act, Line
from console.fleet_ports import Audit
from console.gatekeeper import AdminError, Gate, actor_of

Name = Annotated[str, Field(min_length=1, max_length=128)]
Version = Annotated[str, Field(min_length=1, max_length=256), Line]


class GrayRefused(Exception):
    """The command makes no sense where the release stands; the message says why."""


class Grays(Protocol):
    """Commands raise GrayRefused and breaker.ports.StoreUnavailable; reads raise the latter."""

    def models(self) -> Sequence[str]: ...

    async def standing(self) -> Sequence[GrayRelease]:
        """The document of each model that has one: under way, or how the last one ended."""
        ...

    async def history(self, model: str | None, limit: int) -> Sequence[GrayRelease]:
        """Newest first."""
        ...

    async def find(self, id: str) -> GrayRelease | None:
        """By its id, or the newest of the model of that name."""
        ...

    def report(self, release: GrayRelease) -> Mapping[str, Any]: ...

    def markdown(self, release: GrayRelease, language: str) -> str: ...

    async def start(
        self, model: str, candidate: str, *, version: str, by_itself: bool, actor: str, note: str
    ) -> GrayRelease: ...

    async def step(self, model: str, actor: str, note: str) -> GrayRelease: ...
    async def pause(self, model: str, actor: str, note: str) -> GrayRelease: ...
    async def resume(self, model: str, actor: str, note: str) -> GrayRelease: ...
    async def stop(self, model: str, actor: str, note: str) -> GrayRelease: ...
    async def promote(self, model: str, actor: str, note: str) -> GrayRelease: ...


class Start(Act):
    """`version`: what is released (the candidate's upstream model name unless said); `by_itself`: steps need no person."""

    candidate: Name
    version: Version | None = None
    by_itself: bool = True


def gray_routes(grays: Grays, audit: Audit, gate: Gate) -> APIRouter:
    """Routes below /admin/gray."""
    routes = APIRouter(prefix="/admin/gray", dependencies=[Depends(gate.viewer)])
    Operator = Annotated[Identity, Depends(gate.operator)]

    def known(model: str, param: str = "name") -> None:
        if model not in grays.models():
            raise AdminError(404, "model_not_found", f"no model {model!r}: one of {', '.join(grays.models())}", param)

    async def done(act: Awaitable[GrayRelease]) -> dict[str, Any]:
        try:
            return dict(grays.report(await act))
        except GrayRefused as refused:
            raise AdminError(409, "gray_refused", str(refused)) from refused

    @routes.get("")
    async def standing() -> dict[str, Any]:
        return {"releases": [grays.report(release) for release in await grays.standing()]}

    @routes.get("/history")
    async def history(model: str | None = None, limit: Annotated[int, Field(ge=1, le=500)] = 50) -> dict[str, Any]:
        if model is not None:
            known(model, "model")
        return {"releases": [grays.report(release) for release in await grays.history(model, limit)]}

    @routes.get("/reports/{id:path}")
    async def report(id: str, language: Literal["zh", "en"] = "zh") -> dict[str, Any]:
        release = await grays.find(id)
        if release is None:
            raise AdminError(404, "release_not_found", f"no gray release {id!r}", "id")
        return {**grays.report(release), "markdown": grays.markdown(release, language)}

    # A model's name may hold a slash (vendor/model).
    @routes.post("/{model:path}/start")
    async def start(model: str, act: Start, who: Operator) -> dict[str, Any]:
        known(model)
        known(act.candidate, "candidate")
        actor = actor_of(who, act.actor)
        details = {"candidate": act.candidate, "version": act.version or "", "by_itself": act.by_itself}
        await audit.record(
            actor=actor, role=who.role.value, action="gray_start", target=model, reason=act.reason, details=details
        )
        begun = grays.start(
            model, act.candidate, version=act.version or "", by_itself=act.by_itself, actor=actor, note=act.reason
        )
        return await done(begun)

    async def moved(
        word: str, command: Callable[[str, str, str], Awaitable[GrayRelease]], model: str, act: Act, who: Identity
    ) -> dict[str, Any]:
        known(model)
        actor = actor_of(who, act.actor)
        await audit.record(
            actor=actor, role=who.role.value, action=f"gray_{word}", target=model, reason=act.reason, details={}
        )
        return await done(command(model, actor, act.reason))

    @routes.post("/{model:path}/step")
    async def step(model: str, act: Act, who: Operator) -> dict[str, Any]:
        return await moved("step", grays.step, model, act, who)

    @routes.post("/{model:path}/pause")
    async def pause(model: str, act: Act, who: Operator) -> dict[str, Any]:
        return await moved("pause", grays.pause, model, act, who)

    @routes.post("/{model:path}/resume")
    async def resume(model: str, act: Act, who: Operator) -> dict[str, Any]:
        return await moved("resume", grays.resume, model, act, who)

    @routes.post("/{model:path}/stop")
    async def stop(model: str, act: Act, who: Operator) -> dict[str, Any]:
        return await moved("stop", grays.stop, model, act, who)

    @routes.post("/{model:path}/promote")
    async def promote(model: str, act: Act, who: Operator) -> dict[str, Any]:
        return await moved("promote", grays.promote, model, act, who)

    return routes

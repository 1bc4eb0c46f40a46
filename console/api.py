"""Admin JSON: where each model stands and why, and the acts of an operator.

Every path needs `Authorization: Bearer ADMIN_TOKEN`, acts one with the role of an operator. Errors in OpenAI's shape.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from base.names import name_in
from base.reasons import reason_in
from base.wrong import wrong
from breaker.explain import Explanation
from breaker.levels import Mode
from breaker.machine import RefusedMove
from breaker.ports import StoreUnavailable
from breaker.snapshot import Snapshot, Transition
from console.access import Identity
from console.accounted import Accounts
from console.fleet_ports import Audit, Fleet, History, Refusal
from console.gatekeeper import AdminError, Gate, actor_of
from console.refusals import nobody_answers
from console.why import rule_line, told
from console.words import Words, load, preferred

FORCED_MINUTES = 60.0


Reason = Annotated[str, Field(max_length=500), AfterValidator(reason_in)]
Line = AfterValidator(name_in)
Actor = Annotated[str, Field(max_length=100), Line]


class Act(BaseModel):
    """Every act has a reason; `actor` names the person behind a token that several share."""

    model_config = ConfigDict(extra="forbid")
    reason: Reason
    actor: Actor = ""


class Force(Act):
    """`minutes`: how long a forced mode lasts (an hour unless said: none is for ever); observe may last until changed."""

    mode: Mode
    minutes: Annotated[float, Field(gt=0, le=7 * 24 * 60)] | None = None


def build_admin(fleet: Fleet, audit: Audit, history: History, gate: Gate, more: Sequence[APIRouter] = ()) -> FastAPI:
    """Return the admin application. `more`: other routes under the same error shapes; each asks `gate` itself."""
    app = FastAPI(title="Pointsman admin", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(admin_routes(fleet, audit, history, gate))
    for routes in more:
        app.include_router(routes)
    add_error_shapes(app)
    app.add_middleware(Accounts, audit=audit)
    return app


def add_error_shapes(app: FastAPI) -> None:
    """What is refused is told in OpenAI's shape, on every path."""
    app.add_exception_handler(AdminError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(StoreUnavailable, _store_gone)
    app.add_exception_handler(HTTPException, _no_such_path)


def admin_routes(fleet: Fleet, audit: Audit, history: History, gate: Gate) -> APIRouter:
    """Return the routes below /admin."""
    routes = APIRouter(prefix="/admin", dependencies=[Depends(gate.viewer)])
    languages = load()

    @routes.get("/models")
    async def models(request: Request) -> dict[str, Any]:
        words = languages[preferred(request.headers.get("accept-language", ""))]
        refusals = fleet.refusals()
        rows = [await _row(fleet, model, words) | _refusals(refusals.get(model, ())) for model in fleet.models]
        return {
            "models": rows,
            "store_down": fleet.store_down(),
            "database_fails": fleet.database_fails(),
            "now": fleet.now_s(),
        }

    # A model's name may hold a slash (vendor/model).
    @routes.post("/models/{model:path}/force")
    async def force(model: str, act: Force, who: Annotated[Identity, Depends(gate.operator)]) -> dict[str, Any]:
        _known(fleet, model)
        actor = actor_of(who, act.actor)
        minutes = act.minutes or (FORCED_MINUTES if act.mode in (Mode.FORCED_OPEN, Mode.FORCED_NORMAL) else 0.0)
        until = fleet.now_s() + minutes * 60 if minutes and act.mode is not Mode.AUTO else 0.0
        details = {"mode": act.mode.value, "until": until}
        await audit.record(
            actor=actor, role=who.role.value, action="force", target=model, reason=act.reason, details=details
        )
        return _snapshot(await _done(fleet.force(model, act.mode, actor, act.reason, until)))

    @routes.post("/models/{model:path}/reset")
    async def reset(model: str, act: Act, who: Annotated[Identity, Depends(gate.operator)]) -> dict[str, Any]:
        _known(fleet, model)
        actor = actor_of(who, act.actor)
        await audit.record(
            actor=actor, role=who.role.value, action="reset", target=model, reason=act.reason, details={}
        )
        return _snapshot(await _done(fleet.reset(model, actor, act.reason)))

    @routes.get("/transitions")
    async def transitions(
        model: str | None = None, limit: Annotated[int, Field(ge=1, le=1000)] = 200
    ) -> dict[str, Any]:
        return {"transitions": [_transition(t) for t in await history.transitions(model, limit=limit)]}

    return routes


def _known(fleet: Fleet, model: str) -> None:
    if model not in fleet.models:
        raise AdminError(404, "model_not_found", f"no model {model!r}: one of {', '.join(fleet.models)}", "name")


async def _done(act: Any) -> Snapshot:
    try:
        moved: Snapshot = await act
    except RefusedMove as refused:
        raise AdminError(409, "move_refused", str(refused)) from refused
    return moved


async def _row(fleet: Fleet, model: str, words: Words) -> dict[str, Any]:
    try:
        explained = await fleet.explain(model)
    except StoreUnavailable:
        return _snapshot(fleet.snapshot(model)) | {"rules": [], "next": [], "unknown": True, **_shares(fleet, model)}
    return _snapshot(fleet.snapshot(model)) | _explained(explained, words) | _shares(fleet, model)


def _shares(fleet: Fleet, model: str) -> dict[str, Any]:
    return {"shares": [asdict(share) for share in fleet.shares(model)]}


def _refusals(refusals: Sequence[Refusal]) -> dict[str, Any]:
    """`refused`: its vendor turns us away at every endpoint, so that it serves nobody whatever its level."""
    return {"refused": nobody_answers(refusals), "refusals": [asdict(one) for one in refusals]}


def _explained(explained: Explanation, words: Words) -> dict[str, Any]:
    rules = [
        {
            "rule": reading.reason.value,
            "level": reading.level.value,
            "value": reading.value,
            "line": reading.line,
            "n": reading.n,
            "minimum": reading.minimum,
            "known": reading.known,
            "fired": reading.fired,
            "numbers": dict(reading.numbers),
            "words": rule_line(reading, words).words,
        }
        for reading in explained.rules
    ]
    return {
        "rules": rules,
        "next": told(explained, words),
        "unknown": explained.unknown,
        "probes_wanted": explained.probes_wanted,
    }


def _snapshot(here: Snapshot) -> dict[str, Any]:
    return {
        "model": here.model,
        "level": here.level.value,
        "effective": here.effective.value,
        "mode": here.mode.value,
        "mode_actor": here.mode_actor,
        "mode_reason": here.mode_reason,
        "mode_until": here.mode_until,
        "would_be": here.would_be.value if here.would_be else None,
        "since": here.since,
        "until": here.until,
        "reasons": [reason.value for reason in here.reasons],
        "epoch": here.epoch,
        "open_count": here.open_count,
        "transitions": [_transition(t) for t in here.transitions],
    }


def _transition(moved: Transition) -> dict[str, Any]:
    return asdict(moved) | {"numbers": dict(moved.numbers)}


WHOLE_BODY = frozenset({"missing", "model_attributes_type", "dict_type", "model_type"})
"""Kinds of error that, told of the body itself, mean that it is no JSON object."""


def _shape(status: int, code: str, message: str, param: str | None) -> JSONResponse:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": param, "code": code}}, status)


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AdminError)
    return _shape(error.status, error.code, error.message, error.param)


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"][1:] if not isinstance(part, int)) or "body"
    if first["type"] == "json_invalid" or (first["loc"] == ("body",) and first["type"] in WHOLE_BODY):
        return _shape(400, "invalid_json", "the body must be a JSON object, sent as application/json", None)
    return _shape(422, "invalid_field", f"{field}: {wrong(first)}", field)


async def _store_gone(_request: Request, error: Exception) -> JSONResponse:
    return _shape(503, "store_unavailable", f"nothing was changed: {error}", None)


async def _no_such_path(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    what = {404: "no such path", 405: "this path does not take that method"}.get(error.status_code, error.detail)
    code = "method_not_allowed" if error.status_code == 405 else "not_found"
    return _shape(error.status_code, code, f"{request.method} {request.url.path}: {what}", None)

"""The router's web face: parse, hand over, encode.

What models answer is plain ASGI and stands before FastAPI's routing, whose machinery costs more than a routed call
itself (measured: about 140 microseconds); everything else is FastAPI.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response
from prometheus_client.openmetrics import exposition as openmetrics
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from breaker.share import phrase_only, without
from router.body import ClientGone, read_body
from router.errors import (
    BadRequest,
    NotOffered,
    RouterError,
    TooMany,
    UnknownRoute,
)
from router.face import id_of, with_face
from router.feedback import FeedbackDesk
from router.journey import ABANDONED_STATUS, Deps, Journey
from router.leaving import Leaving
from router.limits import Admission, Headers
from router.request_ids import RequestIds
from router.serve import serve_stream, serve_whole
from router.shadow import Shadows
from router.sse import encode
from router.stream_out import WRITE_NOW, SseOut, WriteNow
from router.telling import end_failed, internal, send_answer, send_error, send_last, stopping
from router.wire import Kind, parse_chat

log = logging.getLogger("pointsman.router")
OPENAPI = files("router").joinpath("openapi.json").read_bytes()
"""Written by hand: the model endpoints stand before FastAPI, which could describe only the others."""
PLAIN_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_NO_EXTENSIONS: dict[str, Any] = {}
PATHS = {f"/v1{kind.value}": kind for kind in Kind}


class RouterApp(FastAPI):
    """FastAPI, with the endpoints that models answer in front of its routing."""

    models: "ModelEndpoint"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
        elif scope["path"] in PATHS:
            await self.models(scope, receive, send)
        else:
            scope, send = with_face(scope, send)
            await super().__call__(scope, receive, send)


def build_app(deps: Deps, *, lifespan: Any = None) -> RouterApp:
    """Return the ASGI app over `deps`; `lifespan` is FastAPI's, for whoever opens and closes what is in there."""
    app = RouterApp(
        title="Pointsman",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # the redirect names http and the host as we see them, which behind a proxy is wrong
        lifespan=lifespan,
    )
    app.models = ModelEndpoint(deps)

    @app.get("/v1/models")
    async def list_models(request: Request) -> dict[str, Any]:
        caller = deps.keys.caller(request.headers.get("authorization"))
        names = [n for n in deps.topology.routes if caller.routes is None or n in caller.routes]
        return {"object": "list", "data": [_listed(name) for name in names]}

    @app.get("/v1/models/{model:path}")
    async def one_model(request: Request, model: str) -> dict[str, Any]:
        if not model:
            return await list_models(request)
        caller = deps.keys.caller(request.headers.get("authorization"))
        if deps.topology.route(model) is None:
            raise _unknown(model)
        deps.keys.allow(caller, model)
        return _listed(model)

    desk = FeedbackDesk(deps.feedback, deps.clock, deps.metrics) if deps.feedback is not None else None

    @app.post("/v1/feedback")
    async def feedback(request: Request) -> Response:
        caller = deps.keys.caller(request.headers.get("authorization"))
        if desk is None:
            raise NotOffered("this server keeps no feedback")
        try:
            raw = await read_body(request.receive, request.headers, deps.policy.max_body_bytes)
        except ClientGone:
            return Response(status_code=ABANDONED_STATUS)
        return _json(*await desk.file(raw, caller))

    @app.get("/openapi.json")
    async def openapi() -> Response:
        return Response(OPENAPI, media_type="application/json")

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> Response:
        ready = deps.ready()
        return _json(200 if ready else 503, {"status": "ready" if ready else "not ready"})

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        _gauges(deps)
        exemplars = "application/openmetrics-text" in request.headers.get("accept", "")
        told = deps.metrics.openmetrics() if exemplars else deps.metrics.exposition()
        if deps.exposition is not None:
            told = await deps.exposition(told, exemplars)
        return Response(told, media_type=openmetrics.CONTENT_TYPE_LATEST if exemplars else PLAIN_METRICS)

    @app.post("/v1/responses")
    @app.post("/v1/messages")
    async def not_offered(request: Request) -> Response:
        raise NotOffered(f"{request.url.path} is not offered yet; use POST /v1/chat/completions")

    @app.exception_handler(RouterError)
    async def told(request: Request, error: Exception) -> Response:
        assert isinstance(error, RouterError)
        answer = _json(error.status, error.shape())
        for name, value in error.told_headers():
            answer.headers[name.decode()] = value.decode()
        return answer

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        request_id = id_of(request.scope)
        log.exception(
            "%s %s failed", request.method, request.url.path, exc_info=error, extra={"request_id": request_id}
        )
        return _json(500, internal(request_id).shape())

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        slash = " (it ends in a slash)" if request.url.path.endswith("/") and request.url.path != "/" else ""
        allowed = (error.headers or {}).get("Allow", "")
        what = {404: f"no such path{slash}", 405: f"use {allowed}"}.get(error.status_code, error.detail)
        code = "method_not_allowed" if error.status_code == 405 else "not_found"
        wrong = RouterError(f"{request.method} {request.url.path}: {what}", code=code)
        answer = _json(error.status_code, wrong.shape())
        if allowed:
            answer.headers["allow"] = allowed
        return answer

    return app


class ModelEndpoint:
    """POST /v1/chat/completions, /v1/completions, /v1/embeddings."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._seen: Deps | None = None
        self._in_flight = 0
        self.shadows = Shadows()
        self._ids = RequestIds()
        deps.metrics.in_flight.set_function(lambda: self._in_flight)

    def _in_force(self) -> Deps:
        """What a request that begins now goes by, to its end: a reload swaps the parts of `deps` under those that began."""
        now, seen = self._deps, self._seen
        if (
            seen is None
            or seen.topology is not now.topology
            or seen.policy is not now.policy
            or seen.gate is not now.gate
            or seen.catalog is not now.catalog
            or seen.shares is not now.shares
        ):
            seen = self._seen = replace(now)
        return seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        deps = self._deps
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        request_id = self._ids.name(headers.get("x-request-id"))
        if self._in_flight >= deps.policy.max_in_flight:
            error = TooMany("too many requests at once", code="too_many_requests", retry_after_s=1.0)
            await send_error(send, error, request_id)
            deps.metrics.refused.labels(error.code).inc()
            return
        self._in_flight += 1
        try:
            await self._answered(scope, headers, receive, send, request_id)
        finally:
            self._in_flight -= 1

    async def _answered(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive, send: Send, request_id: str
    ) -> None:
        deps = self._deps
        try:
            journey = await self._admitted(scope, headers, receive, request_id)
        except RouterError as error:
            deps.metrics.refused.labels(error.code).inc()
            await send_error(send, error, request_id)
        except ClientGone:
            deps.metrics.refused.labels("abandoned").inc()
        except asyncio.CancelledError:
            await send_last(send, request_id, stopping())
            raise
        except Exception:
            log.exception("request %s failed inside the router", request_id, extra={"request_id": request_id})
            deps.metrics.refused.labels("internal_error").inc()
            await send_last(send, request_id, internal(request_id))
        else:
            writer = scope.get("extensions", _NO_EXTENSIONS).get(WRITE_NOW, _NO_EXTENSIONS).get("writer")
            await self._serve(*journey, receive, send, writer)

    async def _admitted(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive, request_id: str
    ) -> tuple[Journey, Admission | None]:
        """Check the request as far as it can be without a model. Raises RouterError or ClientGone."""
        deps = self._in_force()
        if scope["method"] != "POST":
            raise _MethodRefused(f"{scope['method']} {scope['path']}: use POST", headers=((b"allow", b"POST"),))
        caller = deps.keys.caller(headers.get("authorization"))
        raw = await read_body(receive, headers, deps.policy.max_body_bytes)
        request = parse_chat(raw, headers, caller.app, PATHS[scope["path"]])
        route = deps.topology.route(request.route)
        if route is None:
            raise _unknown(request.route)
        if request.scene is not None and not deps.topology.knows_scene(request.scene):
            known = ", ".join(sorted(deps.topology.scenes))
            raise BadRequest(f"unknown scene {request.scene!r}; use one of: {known}", param="x-pointsman-scene")
        deps.keys.allow(caller, route.name)
        journey = Journey(deps, request, caller, route, request_id)
        return journey, deps.limits.admit(caller, len(raw), deps.clock.monotonic_s())

    async def _serve(
        self,
        journey: Journey,
        admission: Admission | None,
        receive: Receive,
        send: Send,
        writer: WriteNow | None,
    ) -> None:
        """Serve while watching the client: when it hangs up, this task is cancelled and the upstream with it."""
        task = asyncio.current_task()
        assert task is not None

        def left() -> None:
            journey.client_left = True
            task.cancel()

        leaving = Leaving(receive, left)
        if admission is not None:
            send = _with_headers(send, admission.headers())
        out = SseOut(send, self._deps, writer)
        status = 200
        try:
            answer = await (serve_stream(journey, out) if journey.request.stream else serve_whole(journey))
            if answer is not None:
                status = answer.status
                await send_answer(send, answer)
            else:
                await out.end()
        except asyncio.CancelledError:
            if not journey.client_left:  # somebody else's cancellation: the server is going down
                status, journey.code = 503, "shutting_down"
                await end_failed(send, out, journey, stopping())
                raise
            task.uncancel()
            status, journey.code = ABANDONED_STATUS, "abandoned"
        except Exception:
            log.exception("request %s failed inside the router", journey.id, extra={"request_id": journey.id})
            status, journey.code = 500, "internal_error"
            await end_failed(send, out, journey, internal(journey.id))
        finally:
            out.close()
            leaving.stop()
            if admission is not None:
                usage = journey.usage()
                admission.settle(usage.prompt_tokens + usage.completion_tokens)
            _written_down(journey, status)
            if status == 200:
                self.shadows.after(journey)


class _MethodRefused(RouterError):
    status = 405
    code = "method_not_allowed"


def _unknown(route: str) -> UnknownRoute:
    return UnknownRoute(f"no route named {route[:128]!r}; GET /v1/models lists them", param="model")


def _listed(route: str) -> dict[str, Any]:
    return {"id": route, "object": "model", "created": 0, "owned_by": "pointsman"}


def _with_headers(send: Send, more: Headers) -> Send:
    """`send`, that adds headers to whatever answer begins."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent


def _written_down(journey: Journey, status: int) -> None:
    """The request's row, after the answer: whatever goes wrong with it, the client has what it asked for."""
    try:
        journey.finished(status)
    except Exception:
        log.exception("request %s could not be written down", journey.id, extra={"request_id": journey.id})


def _gauges(deps: Deps) -> None:
    levels = deps.guard.levels()
    deps.metrics.forget_all_but(deps.topology.models, deps.topology.routes)
    for name, level in levels.items():
        deps.metrics.stands(name, level)
    usable = without(levels, deps.rests.refused())
    for route in deps.topology.routes.values():
        deps.metrics.phrase_only.labels(route.name).set(phrase_only(route.candidates, usable))


def _json(status: int, body: Any) -> Response:
    return Response(encode(body), status_code=status, media_type="application/json")

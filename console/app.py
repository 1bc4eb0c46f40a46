"""The pages as one ASGI application. Sections whose store is not joined (no incidents yet, say) have no page and no link."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from console.feed import Feed
from console.gate import Headed
from console.pages.fleet import fleet_routes
from console.pages.login import login_routes
from console.ports import AuditTrail, History, Yard
from console.site import Site, visit_of

log = logging.getLogger("pointsman.console")
PACK_FROM_BYTES = 800


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What the pages read and do."""

    yard: Yard
    audit: AuditTrail
    history: History
    feed: Feed
    stopping: Callable[[], bool] = lambda: False


def build_console(make_site: Callable[[Sequence[str]], Site], desk: Desk, admin: ASGIApp) -> ASGIApp:
    """The operators' application: pages, and `admin` (the JSON) below /admin and /healthz. `make_site` is told the pages."""
    pages = ["fleet"]
    site = make_site(tuple(pages))

    async def static(request: Request) -> Response:
        return site.assets.answer(
            request.path_params["name"],
            version=request.query_params.get("v", ""),
            accepts=request.headers.get("accept-encoding", ""),
        )

    async def no_such(request: Request, _error: Exception) -> Response:
        return visit_of(site, request).problem(404, "problem.no_such", text=request.url.path)

    async def broken(request: Request, error: Exception) -> Response:
        log.error("a page failed: %s %s", request.method, request.url.path, exc_info=error)
        return visit_of(site, request).problem(500, "problem.error")

    routes: list[BaseRoute] = [
        Route("/static/{name:path}", static, methods=["GET"]),
        *login_routes(site),
        *fleet_routes(site, desk.yard, desk.feed, desk.stopping),
    ]
    web = Starlette(routes=routes, exception_handlers={404: no_such, 405: no_such, Exception: broken})
    return Headed(_either(GZipMiddleware(web, minimum_size=PACK_FROM_BYTES), admin), site.prefix)


def _either(pages: ASGIApp, admin: ASGIApp) -> ASGIApp:
    async def app(scope, receive, send):  # type: ignore[no-untyped-def]
        path = scope.get("path", "")
        inner = admin if path.startswith("/admin/") or path in ("/healthz", "/readyz") else pages
        await inner(scope, receive, send)

    return app

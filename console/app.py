"""The pages as one ASGI application. Sections whose store is not joined (no incidents yet, say) have no page and no link."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo

from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from console.accounted import Accounts
from console.alerts_ports import AlertRoom
from console.anomalies_api import Anomalies
from console.config_ports import Configuration
from console.feed import Feed
from console.fleet_ports import AuditTrail, History, Yard
from console.gate import Headed
from console.gray_api import Grays
from console.jobs_api import ClockJobs
from console.key_ports import KeyRing
from console.pages.evaluations import evaluation_pages
from console.pages.evidence import feedback_pages
from console.pages.fleet import fleet_routes
from console.pages.gray import gray_pages
from console.pages.incidents import IncidentPages
from console.pages.ledgers import audit_routes, job_routes, key_routes
from console.pages.login import login_routes
from console.pages.model import ModelPages
from console.pages.phrases import PhrasePages
from console.pages.requests import RequestPages
from console.pages.settings import config_pages
from console.pages.switches import switch_pages
from console.pages.trial import TrialPages
from console.phrase_ports import PhraseBook
from console.record_ports import HourBook, Records
from console.report_ports import Reports
from console.site import Site, visit_of
from console.sso import IdentityProvider, sso_routes
from console.switch_ports import Switches
from console.trial_ports import Prober
from console.watch_api import Watched

log = logging.getLogger("pointsman.console")
PACK_FROM_BYTES = 800


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What the pages read and do. What is None has no page."""

    yard: Yard
    audit: AuditTrail
    history: History
    feed: Feed
    records: Records
    hours: HourBook | None = None
    zone: tzinfo = UTC
    prober: Prober | None = None
    keys: KeyRing | None = None
    jobs: ClockJobs | None = None
    phrases: PhraseBook | None = None
    alerts: AlertRoom | None = None
    configuration: Configuration | None = None
    grays: Grays | None = None
    anomalies: Anomalies | None = None
    watched: Watched | None = None
    reports: Reports | None = None
    switches: Switches | None = None
    identities: IdentityProvider | None = None
    stopping: Callable[[], bool] = lambda: False


def build_console(make_site: Callable[[Sequence[str]], Site], desk: Desk, admin: ASGIApp) -> ASGIApp:
    """The operators' application: pages, and `admin` (the JSON, and what opens without a login) below /admin, /ack, /runbooks, /healthz, /metrics. `make_site` is told the pages."""
    site = make_site(_pages(desk))

    async def no_such(request: Request, _error: Exception) -> Response:
        return visit_of(site, request).problem(404, "problem.no_such", text=request.url.path)

    async def broken(request: Request, error: Exception) -> Response:
        log.error("a page failed: %s %s", request.method, request.url.path, exc_info=error)
        return visit_of(site, request).problem(500, "problem.error")

    handlers = {404: no_such, 405: no_such, Exception: broken}
    web = Starlette(routes=list(_routes(site, desk)), exception_handlers=handlers)
    pages = Accounts(GZipMiddleware(web, minimum_size=PACK_FROM_BYTES), desk.audit)
    return Headed(_either(pages, admin), site.prefix)


def _pages(desk: Desk) -> tuple[str, ...]:
    """The links on top, in the order of a night shift."""
    there = {
        "fleet": True,
        "incidents": desk.alerts is not None,
        "requests": True,
        "try": True,
        "switches": desk.switches is not None,
        "gray": desk.grays is not None,
        "feedback": desk.anomalies is not None,
        "reports": desk.reports is not None,
        "phrases": desk.phrases is not None,
        "jobs": desk.jobs is not None,
        "keys": desk.keys is not None,
        "config": desk.configuration is not None,
        "audit": True,
    }
    return tuple(page for page, is_there in there.items() if is_there)


def _routes(site: Site, desk: Desk) -> Iterator[BaseRoute]:
    async def static(request: Request) -> Response:
        return site.assets.answer(
            request.path_params["name"],
            version=request.query_params.get("v", ""),
            accepts=request.headers.get("accept-encoding", ""),
        )

    yield Route("/static/{name:path}", static, methods=["GET"])
    yield from login_routes(site)
    if desk.identities is not None:
        yield from sso_routes(site, desk.identities)
    yield from fleet_routes(site, desk.yard, desk.feed, desk.switches, desk.stopping)
    model = ModelPages(
        desk.yard, desk.feed, desk.history, desk.audit, desk.records, desk.hours, desk.zone, desk.watched
    )
    yield from model.routes(site)
    yield from RequestPages(desk.records, desk.audit).routes(site)
    yield from TrialPages(desk.audit, desk.prober, desk.stopping).routes(site)
    yield from audit_routes(site, desk.audit)
    if desk.alerts is not None:
        yield from IncidentPages(desk.alerts, desk.audit).routes(site)
    if desk.switches is not None:
        yield from switch_pages(site, desk.switches, desk.audit)
    if desk.grays is not None:
        yield from gray_pages(site, desk.grays, desk.audit)
    if desk.anomalies is not None:
        yield from feedback_pages(site, desk.anomalies, desk.watched, desk.audit)
    if desk.reports is not None:
        yield from evaluation_pages(site, desk.reports)
    if desk.configuration is not None:
        yield from config_pages(site, desk.configuration, desk.audit)
    if desk.phrases is not None:
        yield from PhrasePages(desk.phrases, desk.audit).routes(site)
    if desk.keys is not None:
        yield from key_routes(site, desk.keys, desk.audit)
    if desk.jobs is not None:
        yield from job_routes(site, desk.jobs, desk.audit)


def _either(pages: ASGIApp, admin: ASGIApp) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        inner = (
            admin
            if path.startswith(("/admin/", "/ack/", "/runbooks/")) or path in ("/healthz", "/metrics", "/readyz")
            else pages
        )
        await inner(scope, receive, send)

    return app

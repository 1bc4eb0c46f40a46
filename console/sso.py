"""Logging in with the company's own identity provider (OpenID Connect): the pages' side of it.

The provider is a port; pointsman/oidc.py fulfils it. What a login must bring back (state, nonce, verifier)
travels in a signed cookie of ten minutes, so that any replica can finish what another began.
"""

import logging
import secrets
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from console.access import Identity, Role
from console.pages.login import entered_cookie
from console.session import SESSION_S
from console.site import SESSION_COOKIE, SSO_MARK, Site, local, visit_of

log = logging.getLogger("pointsman.console")
FLOW_COOKIE, FLOW_S = "pointsman_sso", 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """One login under way. `verifier` proves that whoever comes back is who left (PKCE)."""

    state: str
    nonce: str
    verifier: str
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Whom the provider vouches for, and what their groups make of them here; None: they may not come in."""

    name: str
    role: Role | None


class SsoRefused(Exception):
    """The provider did not vouch for anybody; the message is for the log."""


class IdentityProvider(Protocol):
    """Both raise SsoRefused."""

    async def begin(self, flow: Flow) -> str:
        """Where to send the person."""
        ...

    async def finish(self, flow: Flow, code: str) -> Person: ...


def sso_routes(site: Site, provider: IdentityProvider) -> list[Route]:
    async def leave(request: Request) -> Response:
        visit = visit_of(site, request)
        flow = Flow(
            state=secrets.token_urlsafe(24),
            nonce=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
            next=local(visit.asked("next", most=1_000)),
        )
        try:
            answer = RedirectResponse(await provider.begin(flow), 303)
        except SsoRefused as refused:
            log.warning("login by the identity provider: %s", refused)
            return visit.problem(502, "problem.sso")
        sealed = site.sealer.seal_flow([flow.state, flow.nonce, flow.verifier, flow.next], site.real_now_s())
        # Lax: the provider sends the person back from another site by a plain link.
        answer.set_cookie(
            FLOW_COOKIE,
            sealed,
            max_age=int(FLOW_S),
            path=site.path("/login"),
            secure=site.secure_cookies,
            httponly=True,
            samesite="lax",
        )
        return answer

    async def come_back(request: Request) -> Response:
        visit = visit_of(site, request)
        kept = site.sealer.opened_flow(request.cookies.get(FLOW_COOKIE, ""), site.real_now_s(), FLOW_S)
        state, code = request.query_params.get("state", ""), request.query_params.get("code", "")
        if kept is None or not secrets.compare_digest(state.encode(), kept[0].encode()):
            return visit.problem(403, "problem.sso_stale")
        if refused := request.query_params.get("error", ""):
            return visit.problem(403, "problem.sso_refused", text=refused[:100])
        if not code:
            return visit.problem(403, "problem.sso_stale")
        flow = Flow(state=kept[0], nonce=kept[1], verifier=kept[2], next=kept[3])
        try:
            person = await provider.finish(flow, code)
        except SsoRefused as refused:
            log.warning("login by the identity provider: %s", refused)
            return visit.problem(502, "problem.sso")
        if person.role is None:
            return visit.problem(403, "problem.sso_role", text=person.name)
        answer = RedirectResponse(site.path(local(flow.next)), 303)
        identity = Identity(digest=f"{SSO_MARK}{secrets.token_hex(8)}", role=person.role, name=person.name)
        answer.set_cookie(
            SESSION_COOKIE,
            entered_cookie(site, identity, person.name[:60]),
            max_age=int(SESSION_S),
            path=site.path("/"),
            secure=site.secure_cookies,
            httponly=True,
            samesite="lax",
        )
        answer.delete_cookie(FLOW_COOKIE, path=site.path("/login"))
        return answer

    return [Route("/login/sso", leave, methods=["GET"]), Route("/login/sso/back", come_back, methods=["GET"])]

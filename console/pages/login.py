"""Coming in and going out: the admin token becomes a signed cookie; language and colours are remembered."""

import secrets

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from console.access import Identity, Role
from console.forms import BadForm, Form, read_form
from console.gate import from_elsewhere
from console.session import NONCE_BYTES, SESSION_S, Session, mark_of
from console.site import (
    LANGUAGE_COOKIE,
    SESSION_COOKIE,
    THEME_COOKIE,
    THEMES,
    Site,
    Visit,
    acts,
    local,
    visit_of,
)
from console.throttle import LoginThrottle
from console.words import LANGUAGES

YEAR_S = 365 * 86_400
NAME_CHARS, MAX_SHOWN_CHARS = 60, 200
"""A name may be so long; a longer one is refused, and shown again up to so many characters."""


def login_routes(site: Site) -> list[Route]:
    throttle = LoginThrottle()

    async def form(request: Request) -> Response:
        visit = visit_of(site, request)
        if visit.session is not None:
            return RedirectResponse(site.path(local(visit.asked("next"))), 303)
        return _form(visit)

    async def enter(request: Request) -> Response:
        visit = visit_of(site, request)
        address = request.client.host if request.client else ""
        if (wait_s := throttle.wait_s(address, site.real_now_s())) > 0:
            answer = _form(visit, "login.too_often", status=429)
            answer.headers["retry-after"] = str(int(wait_s) + 1)
            return answer
        try:
            given = await read_form(request)
        except BadForm as bad:
            return _form(visit, "login.refused", status=bad.status)
        if from_elsewhere(request.headers) or not site.sealer.is_login_token(
            given.raw("form_token"), site.real_now_s()
        ):
            return _form(visit, "login.stale", status=403, typed=given)
        identity = site.doorkeeper.identify(given.raw("token").strip())
        if identity is None:
            throttle.failed(address, site.real_now_s())
            return _form(visit, "login.refused", status=401, typed=given)
        actor = identity.name or given.raw("actor").strip()
        if not actor or (len(actor) > NAME_CHARS and not identity.name):
            return _form(visit, "login.long" if actor else "login.who", status=422, typed=given)
        throttle.succeeded(address)
        return _entered(site, identity, actor, local(given.raw("next")))

    async def leave(visit: Visit) -> Response:
        answer = RedirectResponse(visit.url("/login"), 303)
        answer.delete_cookie(SESSION_COOKIE, path=site.path("/"))
        # What a browser kept of our pages goes too.
        answer.headers["clear-site-data"] = '"cache"'
        return answer

    async def prefer(request: Request) -> Response:
        answer = RedirectResponse(site.path(_back(request.query_params.get("back", "/"))), 303)
        for name, cookie, known in (("lang", LANGUAGE_COOKIE, LANGUAGES), ("theme", THEME_COOKIE, THEMES)):
            if (value := request.query_params.get(name)) in known:
                _remember(site, answer, cookie, str(value), YEAR_S)
        return answer

    return [
        Route("/login", form, methods=["GET"]),
        Route("/login", enter, methods=["POST"]),
        Route("/preferences", prefer, methods=["GET"]),
        acts(site, "/logout", leave, Role.VIEWER),
    ]


def entered_cookie(site: Site, identity: Identity, actor: str) -> str:
    """The cookie of a new session."""
    session = Session(
        id=secrets.token_hex(8),
        actor=actor,
        role=identity.role,
        mark=mark_of(identity.digest),
        began_at=site.real_now_s(),
    )
    return site.sealer.seal(session)


def _entered(site: Site, identity: Identity, actor: str, to: str) -> Response:
    answer = RedirectResponse(site.path(to), 303)
    _remember(site, answer, SESSION_COOKIE, entered_cookie(site, identity, actor), int(SESSION_S))
    return answer


def _remember(site: Site, answer: Response, cookie: str, value: str, age_s: int) -> None:
    answer.set_cookie(
        cookie,
        value,
        max_age=age_s,
        path=site.path("/"),
        secure=site.secure_cookies,
        httponly=True,
        samesite="lax",
    )


def _back(path: str) -> str:
    return "/login" if path.startswith("/login") else local(path)


def _form(visit: Visit, error: str = "", *, status: int = 200, typed: Form | None = None) -> Response:
    site = visit.site
    token = site.sealer.login_token(secrets.token_bytes(NONCE_BYTES), site.real_now_s())
    return visit.page(
        "login.html",
        status=status,
        error=error,
        form_token=token,
        next=local(typed.raw("next") if typed else visit.asked("next", most=1_000)),
        actor=typed.raw("actor")[:MAX_SHOWN_CHARS] if typed else "",
    )

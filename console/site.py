"""The frame around every page: who looks, in which language and colours, and the way back out.

Handlers are given a Visit and return a Response. `looks` and `acts` wrap them: the first asks for a session and a role,
the second also for a form token; a POST route is made by `acts` and in no other way.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from jinja2 import Environment
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from base.clock import Clock
from breaker.ports import StoreUnavailable
from console.access import Doorkeeper, Role
from console.assets import Assets
from console.csv_out import CSV_ROWS, Sheet, csv_answer
from console.forms import BadForm, Form, read_form
from console.gate import cookies_of, from_elsewhere
from console.session import NONCE_BYTES, Sealer, Session
from console.words import HTML_TAGS, LANGUAGES, Words, preferred

SESSION_COOKIE, THEME_COOKIE, LANGUAGE_COOKIE = "pointsman_session", "pointsman_theme", "pointsman_lang"
THEMES = ("auto", "light", "dark")
SSO_MARK = "sso:"
"""Begins the mark of a session that an identity provider vouched for: no token of ours stands behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What every page is handed. `prefix`: the path a proxy puts before ours, without a slash at its end."""

    sealer: Sealer
    doorkeeper: Doorkeeper
    templates: Environment
    assets: Assets
    words: Mapping[str, Words]
    clock: Clock
    prefix: str = ""
    secure_cookies: bool = False
    nav: tuple[str, ...] = ()
    sso: bool = False
    """Whether people may log in with the company's identity provider."""

    def path(self, path: str) -> str:
        return self.prefix + path

    def real_now_s(self) -> float:
        """Sessions last real hours, also in compressed time."""
        return self.clock.real_s(self.clock.now_s())


@dataclass(slots=True, kw_only=True)
class Visit:
    """One request: who asks for what, and how to answer."""

    site: Site
    request: Request
    session: Session | None
    language: str
    theme: str
    form: Form = field(default_factory=lambda: Form({}))

    @property
    def words(self) -> Words:
        return self.site.words[self.language]

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    @property
    def actor(self) -> str:
        return self.session.actor if self.session else ""

    @property
    def role(self) -> Role:
        return self.session.role if self.session else Role.VIEWER

    @property
    def partial(self) -> bool:
        """Whether htmx asks for a piece of the page."""
        return self.request.headers.get("hx-request") == "true"

    def asked(self, name: str, *, most: int = 200, default: str = "") -> str:
        """One field of the query, cut to a sane length."""
        return self.query.get(name, default).strip()[:most]

    def form_field(self) -> Markup:
        """The hidden field that every form carries."""
        token = self.site.sealer.form_token(self.session.id if self.session else "", secrets.token_bytes(NONCE_BYTES))
        return Markup('<input type="hidden" name="form_token" value="{}">').format(token)

    @property
    def csv(self) -> str:
        """Which table of the page is asked for as CSV; empty: the page itself."""
        return self.asked("csv")

    def most(self, shown: int) -> int:
        """How many rows to read of a table that the page shows in pieces of `shown`."""
        return CSV_ROWS if self.csv else shown

    def csv_link(self, path: str, sheet: str, **query: object) -> Markup:
        """What stands beside a table."""
        return Markup('<a class="csv" href="{}" download title="{}" data-sheet="{}">CSV</a>').format(
            self.url(path, **{**query, "csv": sheet}), self.words("csv"), sheet
        )

    def page(
        self, template: str, *, status: int = 200, sheets: Mapping[str, Sheet] | None = None, **values: Any
    ) -> Response:
        """The page, or one of its tables where the address asks for that. Raises KeyError for a table it does not have."""
        if sheets is not None and self.csv:
            return csv_answer(self.csv, sheets[self.csv])
        html = self.site.templates.get_template(template).render(
            visit=self,
            t=self.words,
            lang=self.language,
            html_lang=HTML_TAGS[self.language],
            theme=self.theme,
            languages=LANGUAGES,
            url=self.url,
            csv=self.csv_link,
            asset=lambda name: self.site.path(self.site.assets.url(name)),
            now_s=self.site.clock.now_s(),
            said=self._said(),
            **values,
        )
        return HTMLResponse(html, status, headers={"vary": "cookie, accept-language, hx-request"})

    def _said(self) -> str:
        """What was just done, by its key; an unknown one says nothing, so that a link cannot put words in our mouth."""
        key = f"said.{self.query.get('said', '')}"
        return self.words(key) if key in self.words else ""

    def url(self, path: str, **query: object) -> str:
        """A link inside the console; empty values are left out."""
        asked = {name: str(value) for name, value in query.items() if value not in ("", None)}
        return self.site.path(path) + (f"?{urlencode(asked, quote_via=quote)}" if asked else "")

    def away(self, path: str, **query: object) -> Response:
        return RedirectResponse(self.url(path, **query), 303)

    def problem(self, status: int, title: str, text: str = "", **values: Any) -> Response:
        """What went wrong and what to do; with what was typed, so that nobody types it again."""
        template = "problem_part.html" if self.partial else "problem.html"
        return self.page(template, status=status, title=title, text=text, typed=self._typed(), **values)

    def _typed(self) -> list[tuple[str, str]]:
        """The texts of the form by the words that stand before them; never a token or a key."""
        words = self.words
        known = ("field.{}", "phrases.{}")
        return [
            (next((words(key.format(name)) for key in known if key.format(name) in words), name), value)
            for name, value in self.form.items()
            if name not in NOT_SHOWN_AGAIN and value.strip()
        ]


NOT_SHOWN_AGAIN = frozenset({"form_token", "token", "key", "seen", "id", "language"})
"""Fields that no page repeats: what proves who somebody is, and what nobody typed."""
Handler = Callable[[Visit], Awaitable[Response]]


def visit_of(site: Site, request: Request) -> Visit:
    cookies = cookies_of(request.scope)
    session = site.sealer.opened(cookies.get(SESSION_COOKIE, ""), site.real_now_s())
    if session is not None:
        # The role is that of the token today, not that of the day it was used to log in.
        vouched = session.role if site.sso and session.mark.startswith(SSO_MARK) else None
        role = vouched or site.doorkeeper.still_valid(session.mark)
        session = (
            None
            if role is None
            else Session(id=session.id, actor=session.actor, role=role, mark=session.mark, began_at=session.began_at)
        )
    language = cookies.get(LANGUAGE_COOKIE, "")
    if language not in LANGUAGES:
        language = preferred(request.headers.get("accept-language", ""))
    theme = cookies.get(THEME_COOKIE, "auto")
    return Visit(
        site=site, request=request, session=session, language=language, theme=theme if theme in THEMES else "auto"
    )


def looks(site: Site, path: str, handler: Handler, needed: Role = Role.VIEWER) -> Route:
    """A page that changes nothing."""

    async def endpoint(request: Request) -> Response:
        visit = visit_of(site, request)
        return _not_admitted(visit, needed) or await _answered(visit, handler)

    return Route(path, endpoint, methods=["GET"])


def acts(site: Site, path: str, handler: Handler, needed: Role = Role.OPERATOR) -> Route:
    """Something is done: by a form of ours, by somebody who may."""

    async def endpoint(request: Request) -> Response:
        visit = visit_of(site, request)
        if visit.session is None and from_elsewhere(request.headers):
            return RedirectResponse(visit.url("/login"), 303)
        try:
            visit.form = await read_form(request)
        except BadForm as bad:
            return _bad_form(visit, bad)
        if visit.session is None:
            return visit.problem(401, "problem.ended", login=visit.url("/login", next=_came_from(site, request)))
        if (refused := _not_admitted(visit, needed)) is not None:
            return refused
        token = visit.form.raw("form_token")
        if from_elsewhere(request.headers) or not site.sealer.is_form_token(visit.session.id, token):
            return visit.problem(403, "problem.form_token")
        return await _answered(visit, handler)

    return Route(path, endpoint, methods=["POST"])


def _not_admitted(visit: Visit, needed: Role) -> Response | None:
    if visit.session is None:
        request = visit.request
        login = visit.url("/login", next=_here(request) if request.method == "GET" and not visit.partial else "")
        if visit.partial:
            return Response(status_code=401, headers={"hx-redirect": login})
        if "text/html" not in request.headers.get("accept", "text/html") and "*/*" not in request.headers.get(
            "accept", ""
        ):
            return PlainTextResponse("log in first", 401)
        return RedirectResponse(login, 303)
    if not visit.role.may(needed):
        return visit.problem(403, "problem.role", text=visit.words(f"role.{needed.value}"))
    return None


async def _answered(visit: Visit, handler: Handler) -> Response:
    try:
        return await handler(visit)
    except BadForm as bad:
        return _bad_form(visit, bad)
    except StoreUnavailable as error:
        # Only who has logged in is told where our stores are.
        return visit.problem(503, "problem.store", text=str(error) if visit.session is not None else "")
    except KeyError as missing:
        return visit.problem(404, "problem.no_such", text=str(missing.args[0]) if missing.args else "")


def _bad_form(visit: Visit, bad: BadForm) -> Response:
    words = visit.words
    field_ = words(f"field.{bad.field}") if f"field.{bad.field}" in words else bad.field
    return visit.problem(bad.status, "problem.form", text=f"{field_}: {words(f'form.{bad.why}', **bad.values)}")


def _came_from(site: Site, request: Request) -> str:
    """The page whose form was sent, without the prefix."""
    try:
        page = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return ""
    return page.path.removeprefix(site.prefix) + (f"?{page.query}" if page.query else "")


def _here(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def local(path: str) -> str:
    """`path` if it leads to a page of ours, else the front page: a login must not send anybody elsewhere."""
    inside = path.startswith("/") and not path.startswith("//") and "\\" not in path and "\n" not in path
    return path if inside and not path.startswith(("/login", "/logout")) else "/"

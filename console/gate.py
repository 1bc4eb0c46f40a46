"""What stands in front of every page: the path prefix, the security headers, compression, and who may come in.

Plain ASGI. The admin JSON passes with headers only: it is asked with a token of its own, not with the cookie.
"""

import re
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")
CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
}


class Headed:
    """Takes `prefix` off the path, whether or not a proxy did so before, and sets the headers."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        if not PREFIX.fullmatch(prefix):
            raise ValueError(f"a prefix looks like /pointsman, not {prefix!r}")
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        if self._prefix and (path == self._prefix or path.startswith(self._prefix + "/")):
            path = path[len(self._prefix) :] or "/"
            scope = {**scope, "path": path, "raw_path": path.encode()}

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if not path.startswith("/static/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, headed)


def cookies_of(scope: Scope) -> dict[str, str]:
    """Cookies by name; what cannot be read is as good as absent."""
    jar: SimpleCookie = SimpleCookie()
    headers: list[tuple[bytes, bytes]] = scope.get("headers", [])
    for name, value in headers:
        if name == b"cookie":
            try:
                jar.load(value.decode("latin-1"))
            except CookieError:
                continue
    return {name: morsel.value for name, morsel in jar.items()}


def from_elsewhere(headers: Any) -> bool:
    """Whether a browser says that another site made this request. One that says nothing is judged by its token alone."""
    return headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")

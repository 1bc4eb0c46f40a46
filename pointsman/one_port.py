"""The operators' pages below a path of the clients' address, where somebody asks for that (`console.on_data_port`).

Nothing of the console answers on the clients' port otherwise. What is below the prefix goes to the operators' application,
which asks for a login or an admin token as ever; all else is the clients', whose keys open nothing below the prefix.
"""

from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from pointsman.settings_console import ConsoleSettings


class OnePort:
    """`settings` is read at each request: switched off by a reload, the pages are gone at once."""

    def __init__(self, clients: ASGIApp, operators: ASGIApp, settings: Callable[[], ConsoleSettings]) -> None:
        self._clients, self._operators, self._settings = clients, operators, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings = self._settings()
        path = scope.get("path", "")
        theirs = settings.on_data_port and (path == settings.prefix or path.startswith(f"{settings.prefix}/"))
        await (self._operators if theirs else self._clients)(scope, receive, send)

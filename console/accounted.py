"""Tells the audit log of acts that were refused: each is written down before it is tried, and must not stand as done after.

In:  every answer of an application.  Out: the acts written while it was made are told of its status, if that is 400 or more.
Posture when the log is gone: the answer goes out as it is, and the service's own log says what was not noted.
"""

import logging
from collections.abc import Mapping, Sequence
from contextvars import ContextVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from breaker.ports import StoreUnavailable
from console.fleet_ports import Act, Audit, AuditTrail

log = logging.getLogger("pointsman.console")
_written: ContextVar[list[int] | None] = ContextVar("acts_written", default=None)
"""The acts of the request under way, by their number; a list, so that tasks begun inside it add to the same."""


class Accounted:
    """An audit log that remembers, for the request under way, which acts it was told of."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail = trail

    async def record(
        self, *, actor: str, action: str, target: str, reason: str, details: Mapping[str, object], role: str = "admin"
    ) -> int:
        number = await self._trail.record(
            actor=actor, action=action, target=target, reason=reason, details=details, role=role
        )
        if (written := _written.get()) is not None:
            written.append(number)
        return number

    async def turned_away(self, number: int, status: int) -> None:
        await self._trail.turned_away(number, status)

    async def acts(
        self, *, actor: str = "", action: str = "", target: str = "", before: float | None = None, limit: int = 100
    ) -> Sequence[Act]:
        return await self._trail.acts(actor=actor, action=action, target=target, before=before, limit=limit)


class Accounts:
    """Middleware round every application whose acts are written down: an act whose answer is a refusal was none."""

    def __init__(self, app: ASGIApp, audit: Audit) -> None:
        self._app, self._audit = app, audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        written: list[int] = []
        before = _written.set(written)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                await self._note(written, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            _written.reset(before)

    async def _note(self, written: Sequence[int], status: int) -> None:
        try:
            for number in written:
                await self._audit.turned_away(number, status)
        except StoreUnavailable as error:
            log.warning("acts %s were answered with %d, which the audit log was not told: %s", written, status, error)


_trail: type[AuditTrail] = Accounted

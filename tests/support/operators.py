"""Who may act on the console in tests, and what was written down of it."""

from collections.abc import Mapping
from typing import ClassVar

import httpx
from fastapi import APIRouter, FastAPI

from breaker.ports import StoreUnavailable
from console.access import Identity, Role
from console.api import add_error_shapes
from console.gatekeeper import Gate


class Keeper:
    """Tokens by their text: a shared admin's, a named operator's, a viewer's."""

    known: ClassVar = {
        "admin": Identity(digest="1", role=Role.ADMIN),
        "op": Identity(digest="2", role=Role.OPERATOR, name="olga"),
        "view": Identity(digest="3", role=Role.VIEWER, name="vera"),
    }

    def identify(self, token: str) -> Identity | None:
        return self.known.get(token)

    def still_valid(self, mark: str) -> Role | None:
        return None


class Acts:
    """The audit log: acts as (actor, action, target), unless it is away."""

    def __init__(self) -> None:
        self.acts: list[tuple[str, str, str]] = []
        self.answers: list[tuple[str, int]] = []
        self.away = False

    async def record(
        self, *, actor: str, action: str, target: str, reason: str, details: Mapping[str, object], role: str = "admin"
    ) -> int:
        if self.away:
            raise StoreUnavailable("sql gone")
        self.acts.append((actor, action, target))
        return len(self.acts)

    async def turned_away(self, number: int, status: int) -> None:
        self.answers.append((self.acts[number - 1][1], status))


GATE = Gate(Keeper())


def admin_client(*routes: APIRouter, token: str = "admin") -> httpx.AsyncClient:
    """A client of an admin application that has these routes alone."""
    app = FastAPI()
    for part in routes:
        app.include_router(part)
    add_error_shapes(app)
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://admin", headers=headers)

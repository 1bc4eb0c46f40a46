"""Lets an admin request in: a dependency per role over whoever knows the tokens.

routes.get("/x", dependencies=[Depends(gate.viewer)])
async def act(who: Annotated[Identity, Depends(gate.operator)]) -> …
"""

from typing import Annotated

from fastapi import Header

from base.errors import PointsmanError
from console.access import Doorkeeper, Identity, Role


class AdminError(PointsmanError):
    """An admin request that is refused; says what to mend."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.param = status, code, message, param


class Gate:
    """One per application."""

    def __init__(self, keeper: Doorkeeper) -> None:
        self._keeper = keeper

    def viewer(self, authorization: Annotated[str | None, Header()] = None) -> Identity:
        return self.admitted(authorization, Role.VIEWER)

    def operator(self, authorization: Annotated[str | None, Header()] = None) -> Identity:
        return self.admitted(authorization, Role.OPERATOR)

    def admin(self, authorization: Annotated[str | None, Header()] = None) -> Identity:
        return self.admitted(authorization, Role.ADMIN)

    def admitted(self, authorization: str | None, needed: Role) -> Identity:
        """Who sent `Authorization: Bearer ADMIN_TOKEN`. Raises AdminError 401 or 403."""
        scheme, _, token = (authorization or "").partition(" ")
        who = self._keeper.identify(token.strip()) if scheme.lower() == "bearer" else None
        if who is None and scheme.lower() == "bearer" and token.strip():
            raise AdminError(401, "unauthorized", "this admin token is not valid: it is mistyped or was revoked")
        if who is None:
            raise AdminError(401, "unauthorized", "send an admin token as `Authorization: Bearer TOKEN`")
        if not who.role.may(needed):
            raise AdminError(403, "role_forbidden", f"this token is a {who.role}'s; that needs {needed}")
        return who


def actor_of(who: Identity, given: str) -> str:
    """The name for the audit log: a token of one person's own cannot act under another name unseen."""
    if not who.name:
        return given or who.role.value
    return who.name if given in ("", who.name) else f"{given} via {who.name}"

"""Who may do what on the console: three roles, and the port that tells who a token belongs to."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Role(StrEnum):
    """Each may do what the ones before it may."""

    VIEWER = "viewer"  # looks
    OPERATOR = "operator"  # acts on models, routes, incidents, phrases, verdicts
    ADMIN = "admin"  # keys, and whatever reaches beyond one shift

    def may(self, needed: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose token it is. `name` empty: the token is shared, so the person says who they are at login."""

    digest: str
    role: Role
    name: str = ""


class Doorkeeper(Protocol):
    """Knows tokens by their SHA-256 only. From memory: the last known list holds while a store is gone."""

    def identify(self, token: str) -> Identity | None: ...

    def still_valid(self, mark: str) -> Role | None:
        """The role of the token a session was opened with; None when that token was withdrawn."""

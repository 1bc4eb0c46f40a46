"""Who may act as an operator: the first token (file or environment) and those made since, refreshed once a second.

Posture when SQL is gone: the last known list holds; a token made or withdrawn meanwhile is noticed when it is back.
"""

import hmac
from collections.abc import Collection, Iterable

from base.clock import SystemClock
from breaker.ports import StoreUnavailable
from console.access import Doorkeeper, Identity, Role
from router.auth import digest
from store.sql_admin_tokens import SqlAdminTokens

REFRESH_S = 1.0
"""Real seconds: a withdrawn token is refused that soon."""


class HeldTokens:
    """`first`: SHA-256 in hex of the tokens that are an admin's and nobody's by name; they outlive every list."""

    def __init__(self, first: Collection[str], others: Iterable[Identity] = ()) -> None:
        self._first = [Identity(digest=known, role=Role.ADMIN) for known in first]
        self._all = [*self._first, *others]

    def replace(self, others: Iterable[Identity]) -> None:
        self._all = [*self._first, *others]

    def identify(self, token: str) -> Identity | None:
        given = digest(token)
        # Every hash is compared, so that the time taken tells nothing about which was near.
        same = [who for who in self._all if hmac.compare_digest(given, who.digest)]
        return same[0] if same else None

    def still_valid(self, mark: str) -> Role | None:
        return next((who.role for who in self._all if mark and who.digest.startswith(mark)), None)


async def keep_tokens(held: HeldTokens, store: SqlAdminTokens) -> None:
    """Follow the table until cancelled. Runs in a task of its own."""
    clock = SystemClock()
    while True:
        await refresh_tokens(held, store)
        await clock.sleep(REFRESH_S)


async def refresh_tokens(held: HeldTokens, store: SqlAdminTokens) -> None:
    try:
        held.replace(await store.identities())
    except StoreUnavailable:
        return  # the last known list holds


_keeper: type[Doorkeeper] = HeldTokens

"""Who may act as an operator: the first token (file or environment) and those made since, refreshed once a second.

Posture when SQL is gone: the last known list holds; a token made or withdrawn meanwhile is noticed when it is back.
"""

import hmac
import logging
from collections.abc import Collection, Iterable

from base.clock import SystemClock
from breaker.ports import StoreUnavailable
from console.access import Doorkeeper, Identity, Role
from pointsman.admin_token import VARIABLE
from router.auth import digest
from store.sql_admin_tokens import SqlAdminTokens

log = logging.getLogger("pointsman")
REFRESH_S = 1.0
"""Real seconds: a withdrawn token is refused that soon."""


class HeldTokens:
    """`first`: SHA-256 in hex of the tokens that are an admin's and nobody's by name; they outlive every list.

    One that is on the list too has the role that the list gives it: whoever starts the service from the shell of an
    operator, with the operator's token in the environment, makes no admin of it.
    """

    def __init__(self, first: Collection[str], others: Iterable[Identity] = ()) -> None:
        self._first = [Identity(digest=known, role=Role.ADMIN) for known in first]
        self._told: set[str] = set()
        self.replace(others)

    def replace(self, others: Iterable[Identity]) -> None:
        others = list(others)
        listed = {who.digest: who for who in others}
        for who in self._first:
            if (known := listed.get(who.digest)) is not None and who.digest not in self._told:
                self._told.add(who.digest)
                log.warning("%s holds the token of %s, who stays %s", VARIABLE, known.name, known.role.value)
        self._all = [*(who for who in self._first if who.digest not in listed), *others]

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

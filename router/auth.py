"""Who calls: app keys, known only by the SHA-256 of each. How much an app may ask: router/limits.py.

Posture when the key store is gone: the last known keys hold; an unknown key is refused.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from router.errors import RouteForbidden, Unauthorized


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One app. `routes` None: all. Limits None: none; they hold for the app in the whole fleet (router/limits.py)."""

    app: str
    routes: frozenset[str] | None = None
    per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_concurrent: int | None = None
    """Requests at once in one worker."""
    support: bool = False
    """May file feedback on other apps' requests."""


ANYONE = Caller(app="anonymous", support=True)
"""Without keys everyone is let in, as everybody."""


def digest(key: str) -> str:
    """SHA-256 in hex: keys are 128 random bits or more, so a slow hash would add cost and no safety."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class Keys:
    """The callers by the digest of their key.

    Without any key everyone is let in, unless keys are `required`. They are required for good once there has been one:
    revoking the last key closes the door, it does not open it.
    """

    def __init__(self, callers: Mapping[str, Caller] | None = None, *, required: bool = False) -> None:
        self._callers: Mapping[str, Caller] = dict(callers or {})
        self._required = required or bool(self._callers)

    def replace(self, callers: Mapping[str, Caller], *, required: bool = False) -> None:
        """Swap the whole map: a revoked key is refused from the next request on. `required`: also if no key is left."""
        self._callers = dict(callers)
        self._required = self._required or required or bool(self._callers)

    def caller(self, authorization: str | None) -> Caller:
        """Return who sent `Authorization: Bearer KEY`. Raises Unauthorized."""
        if not self._required:
            return ANYONE
        scheme, _, key = (authorization or "").partition(" ")
        found = self._callers.get(digest(key.strip())) if scheme.lower() == "bearer" else None
        if found is None:
            raise Unauthorized("send a valid app key as `Authorization: Bearer KEY`")
        return found

    def allow(self, caller: Caller, route: str) -> None:
        """Raise RouteForbidden unless `caller` may use `route`."""
        if caller.routes is not None and route not in caller.routes:
            raise RouteForbidden(f"this key may not use route {route!r}", param="model")

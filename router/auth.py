"""Who calls: app keys, known only by the SHA-256 of each, and how fast an app may ask.

Posture when the key store is gone: the last known keys hold; an unknown key is refused.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from router.errors import RouteForbidden, TooMany, Unauthorized


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
        self._buckets: dict[str, tuple[float, float]] = {}

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

    def admit(self, caller: Caller, route: str, now_s: float) -> None:
        """Raise RouteForbidden or TooMany; else the request is counted against the app's rate."""
        if caller.routes is not None and route not in caller.routes:
            raise RouteForbidden(f"this key may not use route {route!r}", param="model")
        if caller.per_minute is None:
            return
        per_s = caller.per_minute / 60
        left, at = self._buckets.get(caller.app, (float(caller.per_minute), now_s))
        left = min(float(caller.per_minute), left + max(0.0, now_s - at) * per_s)
        if left < 1:
            self._buckets[caller.app] = (left, now_s)
            raise TooMany(f"more than {caller.per_minute} requests a minute", retry_after_s=(1 - left) / per_s)
        self._buckets[caller.app] = (left - 1, now_s)

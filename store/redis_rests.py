"""Endpoints that rest, as the fleet knows them: hash `{rest}:all`, `<model>|<mark>` -> JSON of Rest.

A write may overwrite a longer rest of another process; that one notices at its next look, and writes again.
"""

from collections.abc import Sequence

from base.clock import Clock
from breaker.ports import StoreUnavailable
from router.rests import FORGOTTEN_S, Rest, RestStore
from store.documents import from_json, to_json
from store.redis_link import RedisLink

KEY = "{rest}:all"


class RedisRests:
    """`clock` is the fleet's server time. All methods raise StoreUnavailable."""

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link, self._clock = link, clock

    async def load(self) -> Sequence[Rest]:
        """All that somebody still needs to know; the others go."""
        kept: dict[bytes, bytes] = await self._link.ask(lambda client: client.hgetall(KEY))
        found = {field: _read(document) for field, document in kept.items()}
        now_s = self._clock.now_s()
        known = {field: rest for field, rest in found.items() if rest is not None and rest.known_until > now_s}
        if gone := found.keys() - known.keys():
            await self._link.ask(lambda client: client.hdel(KEY, *gone))
        return list(known.values())

    async def put(self, rests: Sequence[Rest]) -> None:
        fields = {f"{rest.model}|{rest.mark}": to_json(rest) for rest in rests}
        ttl_ms = max(1, int(self._clock.real_s(2 * FORGOTTEN_S) * 1000))
        await self._link.ask(lambda client: client.hset(KEY, mapping=fields))
        await self._link.ask(lambda client: client.pexpire(KEY, ttl_ms))


def _read(document: bytes) -> Rest | None:
    """None: unreadable. It is let go, for the others must not be lost with it; whoever knows the rest tells it again."""
    try:
        return from_json(Rest, document)
    except StoreUnavailable:
        return None


_rests: type[RestStore] = RedisRests

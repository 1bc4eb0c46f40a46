"""What each worker let in, by app, where the others can read it.

Keys  `{limits}:spend:<boot id>`  JSON of {app: Spent}, absolute, expires when its writer has been silent for a while
      `{limits}:boots`            sorted set of boot ids by when they last wrote (server time)
One hash tag: both commands of a turn work on Redis Cluster.
"""

from collections.abc import Mapping
from typing import Any

from base.clock import Clock
from router.ports import SpendStore, Spent
from store.documents import to_json, understood
from store.redis_link import RedisLink

LIVE_S = 5.0
"""Ten turns without a word: that worker is gone, or deaf and keeping to its own part (router/limits.py)."""
BOOTS = "{limits}:boots"


class RedisSpend:
    """One per worker. Raises StoreUnavailable."""

    def __init__(self, link: RedisLink, clock: Clock, boot_id: str) -> None:
        self._link = link
        self._clock = clock
        self._boot_id = boot_id

    async def exchange(self, mine: Mapping[str, Spent]) -> Mapping[str, Mapping[str, Spent]]:
        now_s = self._clock.now_s()
        ttl_ms = max(1, int(self._clock.real_s(LIVE_S) * 1000))
        boots: list[str] = await self._link.ask(lambda client: self._tell(client, to_json(mine), now_s, ttl_ms))
        others = [boot for boot in boots if boot != self._boot_id]
        if not others:
            return {}
        keys = [_key(boot) for boot in others]
        documents: list[bytes | None] = await self._link.ask(lambda client: client.mget(keys))
        told = {boot: document for boot, document in zip(others, documents, strict=True) if document is not None}
        # A worker of whom nothing can be understood is one all the same: it serves clients.
        return {boot: understood(dict[str, Spent], document) or {} for boot, document in told.items()}

    async def _tell(self, client: Any, document: bytes, now_s: float, ttl_ms: int) -> list[str]:
        pipe = client.pipeline(transaction=False)
        pipe.set(_key(self._boot_id), document, px=ttl_ms)
        pipe.zadd(BOOTS, {self._boot_id: now_s})
        pipe.zremrangebyscore(BOOTS, "-inf", now_s - LIVE_S)
        pipe.zrange(BOOTS, 0, -1)
        *_, boots = await pipe.execute()
        return [boot.decode(errors="replace") for boot in boots]


def _key(boot_id: str) -> str:
    return f"{{limits}}:spend:{boot_id}"


_spend: type[SpendStore] = RedisSpend

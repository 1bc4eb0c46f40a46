"""Gray releases in Redis: one document per model at `{state}:gray:<model>`, changed by compare-and-set alone."""

from collections.abc import Mapping, Sequence

from breaker.gray import SCHEMA, GrayRelease
from breaker.gray_board import GrayStore
from breaker.ports import StoreUnavailable
from store.documents import all_understood, to_json
from store.redis_link import RedisLink

DOCUMENT_KEPT_S = 30 * 86_400.0
"""Real seconds after its last change: one that still splits by then (promoted, or paused by hand) is put back from the
archive within a minute; the others are history, and stand in SQL."""


class RedisGray:
    """All methods raise StoreUnavailable."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def load(self, models: Sequence[str]) -> Mapping[str, GrayRelease]:
        if not models:
            return {}
        keys = [f"{{state}}:gray:{model}" for model in models]
        documents: list[bytes | None] = await self._link.ask(lambda client: client.mget(keys))
        found = all_understood(GrayRelease, documents)
        if newer := [it.model for it in found if it.schema > SCHEMA]:
            raise StoreUnavailable(f"gray releases of {', '.join(newer)} have a schema that this release cannot read")
        return {it.model: it for it in found}

    async def compare_and_set(self, release: GrayRelease, expected_epoch: int) -> bool:
        args: list[str | int | float] = [
            expected_epoch,
            to_json(release).decode(),
            release.fence,
            int(DOCUMENT_KEPT_S * 1000),
        ]
        return bool(await self._link.run("compare_and_set", [f"{{state}}:gray:{release.model}"], args))


_store: type[GrayStore] = RedisGray

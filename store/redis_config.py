"""Which settings each process runs on, and the wish that all read their file anew.

Keys  `{config}:said`   hash, boot id -> JSON of ProcessConfig; entries older than a minute are dropped by whoever reads
      `{config}:asked`  a word that changes whenever the fleet is asked to reload
"""

import os
from collections.abc import Sequence

from base.clock import Clock
from console.config_ports import ProcessConfig
from store.documents import all_understood, to_json
from store.redis_link import RedisLink

SAID, ASKED = "{config}:said", "{config}:asked"
SILENT_S = 60.0


class RedisConfig:
    """All methods raise StoreUnavailable."""

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock

    async def say(self, own: ProcessConfig) -> None:
        await self._link.ask(lambda client: client.hset(SAID, own.boot_id, to_json(own)))

    async def processes(self) -> Sequence[ProcessConfig]:
        """Oldest boot id first; processes silent for a minute are gone."""
        kept: dict[bytes, bytes] = await self._link.ask(lambda client: client.hgetall(SAID))
        said = all_understood(ProcessConfig, kept.values())
        since = self._clock.now_s() - SILENT_S
        gone = [process.boot_id for process in said if process.at < since]
        if gone:
            await self._link.ask(lambda client: client.hdel(SAID, *gone))
        return sorted((process for process in said if process.at >= since), key=lambda p: (p.role, p.boot_id))

    async def asked(self) -> str:
        """The word of the last wish; empty: none yet."""
        word: bytes | None = await self._link.ask(lambda client: client.get(ASKED))
        return word.decode(errors="replace") if word else ""

    async def ask_all(self) -> str:
        word = os.urandom(8).hex()
        await self._link.ask(lambda client: client.set(ASKED, word))
        return word

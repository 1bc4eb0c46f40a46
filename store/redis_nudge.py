"""A word that a state document has changed, so that replicas look at once and not with their next poll.

Sent by the script that writes the document (store/lua/compare_and_set.lua), heard on a connection of its own.
Only a nudge: pub/sub loses messages whenever a connection is lost, and nothing is decided by one (BREAKER.md, Redis).
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from base.cancels import cancel_kept
from base.clock import Clock
from store.redis_link import FOREIGN

log = logging.getLogger(__name__)
CHANNEL = "{state}:nudge"
HEARD_S = 1.0
"""Real seconds of one wait for a word."""
ANEW_AFTER = 60
"""So many silent waits: then subscribed anew, because a peer that vanished without a word looks the same."""
AGAIN_S = 1.0


class Nudges:
    """`run` until cancelled, in a task of its own."""

    def __init__(self, client: Any, clock: Clock, nudged: Callable[[], None]) -> None:
        """`client` may be shared: a subscription takes a connection of its own from it. `nudged` must not wait."""
        self._client, self._clock, self._nudged = client, clock, nudged
        self.listening = asyncio.Event()
        """Set while subscribed, as far as is known."""

    async def run(self) -> None:
        while True:
            try:
                await self._listen()
            except FOREIGN:
                pass  # levels are adopted with the poll meanwhile
            except Exception:
                log.exception("nudges: the subscription failed")
            finally:
                self.listening.clear()
            await self._clock.sleep(AGAIN_S / self._clock.real_s(1.0))

    async def _listen(self) -> None:
        with cancel_kept():
            await self._client.ping()  # a cluster's client knows no node before its first question
        channel = self._client.pubsub()
        try:
            with cancel_kept():
                await channel.subscribe(CHANNEL)
            silent = 0
            while silent < ANEW_AFTER:
                with cancel_kept():
                    said = await channel.get_message(timeout=HEARD_S)
                silent = 0 if said else silent + 1
                if said and said["type"] == "subscribe":
                    self.listening.set()
                elif said:
                    self._nudged()
        finally:
            await channel.aclose()

"""The fleet's time: Redis's clock, kept between looks by the monotonic one.

A replica whose own clock is wrong, or is stepped, still writes into the right minute (BREAKER.md, scenario 45).
Until the first look, and only then, it is the local clock.
"""

import contextlib

from base.clock import Clock
from breaker.ports import StoreUnavailable
from store.redis_link import RedisLink

REFRESH_S = 10.0
"""Real seconds between looks; quartz drifts less than a millisecond in that time (BREAKER.md, Redis)."""


class ServerTime:
    """A Clock whose `now_s` follows Redis TIME, times the scale of the local clock."""

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock
        self._offset_s: float | None = None

    @property
    def synced(self) -> bool:
        return self._offset_s is not None

    def now_s(self) -> float:
        if self._offset_s is None:
            return self._clock.now_s()
        return self._offset_s + self._clock.monotonic_s()

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    def real_s(self, seconds: float) -> float:
        return self._clock.real_s(seconds)

    async def refresh(self) -> None:
        """Look once. Raises StoreUnavailable; the old offset then stands."""
        asked_at = self._clock.monotonic_s()
        seconds, micros = await self._link.ask(lambda client: client.time())
        answered_at = self._clock.monotonic_s()
        scale = 1.0 / self._clock.real_s(1.0)
        # The server read its clock somewhere between question and answer: the middle halves the error.
        self._offset_s = (seconds + micros / 1e6) * scale - (asked_at + answered_at) / 2

    async def run(self) -> None:
        """Look every 10 real seconds until cancelled."""
        while True:
            with contextlib.suppress(StoreUnavailable):  # the old offset stands
                await self.refresh()
            await self._clock.sleep(REFRESH_S / self._clock.real_s(1.0))


_clock: type[Clock] = ServerTime

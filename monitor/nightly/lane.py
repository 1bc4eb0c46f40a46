"""One vendor's road for suite prompts: calls at once, calls a minute, tokens and money.

Live traffic shares the vendor's quota, so the pace is kept from the first call on, and a refusal for too many requests
rests the whole lane, not one prompt. The clock is handed in.
"""

import asyncio

from base.clock import Clock
from monitor.nightly.policy import VendorLimits
from monitor.nightly.records import Result

REST_CAP_S = 120.0
"""Longest rest a vendor's Retry-After may ask for; a run must end before the morning."""


class Lane:
    """`pace` before each call, `spent` after it. `spent_cost` and `spent_tokens` start with what an earlier part of the run took."""

    def __init__(self, vendor: str, limits: VendorLimits, clock: Clock) -> None:
        self.vendor, self.limits = vendor, limits
        self._clock = clock
        self._turn = asyncio.Lock()
        self._free_at = 0.0
        self.spent_cost = 0.0
        self.spent_tokens = 0

    @property
    def exhausted(self) -> str:
        """Which budget is used up: "", `max_tokens` or `max_cost`."""
        if self.spent_tokens >= self.limits.max_tokens:
            return "max_tokens"
        if self.limits.max_cost is not None and self.spent_cost >= self.limits.max_cost:
            return "max_cost"
        return ""

    async def pace(self) -> None:
        """Wait for this call's turn: `per_minute` calls are evenly spread, so that no minute's quota goes in a second."""
        async with self._turn:
            wait_s = self._free_at - self._clock.monotonic_s()
            if wait_s > 0:
                await self._clock.sleep(wait_s)
            self._free_at = max(self._free_at, self._clock.monotonic_s()) + 60.0 / self.limits.per_minute

    def rest(self, seconds: float) -> None:
        """Nobody calls this vendor for so long."""
        self._free_at = max(self._free_at, self._clock.monotonic_s() + min(seconds, REST_CAP_S))

    def spent(self, result: Result) -> None:
        self.spent_cost += result.cost
        self.spent_tokens += result.tokens_in + result.tokens_out

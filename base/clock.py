"""Time, handed in: the one place that reads the machine's clocks.

`scale` makes every duration pass that many times faster (the demo's compressed time); 1.0 is real time.
"""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time and monotonic time in seconds, and a way to wait."""

    def now_s(self) -> float: ...
    def monotonic_s(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...
    def real_s(self, seconds: float) -> float: ...


async def turn() -> None:
    """Let everybody else on the loop have one turn."""
    await asyncio.sleep(0)


class SystemClock:
    """The machine's clock, `scale` times as fast.

    Scaled wall time is `real x scale`, a function of real time alone, so that every replica of a scaled fleet agrees on it.
    """

    def __init__(self, scale: float = 1.0) -> None:
        if scale <= 0:
            raise ValueError("scale must be > 0")
        self.scale = scale

    def now_s(self) -> float:
        return time.time() * self.scale

    def monotonic_s(self) -> float:
        return time.monotonic() * self.scale

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds) / self.scale)

    def real_s(self, seconds: float) -> float:
        """How long `seconds` of this clock last on the wall: for time-outs and TTLs that others keep."""
        return seconds / self.scale

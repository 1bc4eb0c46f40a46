"""Tells the other workers what this one let in, and hears what they did and how many they are: in the background, twice a
second. Only processes that serve clients take part, each has its part of what models may take at once (router/load.py).

Posture when the store is gone: limits go on from memory; after router/limits.STALE_S each worker keeps to its own part.
"""

import contextlib

from base.clock import Clock
from breaker.ports import StoreUnavailable
from router.limits import Limits
from router.load import Load
from router.ports import SpendStore

EVERY_S = 0.5
"""Real seconds; the span within which a fleet may admit too much."""


async def share_spend(limits: Limits, load: Load, store: SpendStore, clock: Clock) -> None:
    """Until cancelled. Runs in a task of its own."""
    while True:
        with contextlib.suppress(StoreUnavailable):
            await exchange(limits, load, store, clock)
        await clock.sleep(EVERY_S / clock.real_s(1.0))


async def exchange(limits: Limits, load: Load, store: SpendStore, clock: Clock) -> None:
    """Once. Raises StoreUnavailable."""
    # Also with nothing to tell: an app that calls here for the first time may have spent its limit elsewhere.
    others = await store.exchange(limits.spent(clock.monotonic_s()))
    limits.heard(others, clock.monotonic_s())
    load.heard(len(others))

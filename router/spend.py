"""Tells the other workers what this one let in, and hears what they did: in the background, twice a second.

Posture when the store is gone: limits go on from memory; after router/limits.STALE_S each worker keeps to its own part.
"""

import contextlib

from base.clock import Clock
from breaker.ports import StoreUnavailable
from router.limits import Limits
from router.ports import SpendStore

EVERY_S = 0.5
"""Real seconds; the span within which a fleet may admit too much."""


async def share_spend(limits: Limits, store: SpendStore, clock: Clock) -> None:
    """Until cancelled. Runs in a task of its own."""
    while True:
        await clock.sleep(EVERY_S / clock.real_s(1.0))
        with contextlib.suppress(StoreUnavailable):
            await exchange(limits, store, clock)


async def exchange(limits: Limits, store: SpendStore, clock: Clock) -> None:
    """Once. Raises StoreUnavailable."""
    # Also with nothing to tell: an app that calls here for the first time may have spent its limit elsewhere.
    limits.heard(await store.exchange(limits.spent(clock.monotonic_s())), clock.monotonic_s())

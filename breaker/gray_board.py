"""The gray releases as the request path knows them: from memory, kept fresh by a poll.

In:  a model that was drawn, a session.  Out: who serves it; nothing on the request path awaits a store.
Posture when the store is gone: the last known splits stay in force.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from base.clock import Clock
from breaker.gray import Drawn, GrayRelease
from breaker.levels import Level
from breaker.ports import StoreUnavailable
from breaker.share import SHUT


class GrayStore(Protocol):
    """The documents. All methods raise StoreUnavailable."""

    async def load(self, models: Sequence[str]) -> Mapping[str, GrayRelease]:
        """The documents that exist."""
        ...

    async def compare_and_set(self, release: GrayRelease, expected_epoch: int) -> bool:
        """Store if the kept epoch is `expected_epoch` (0: none kept yet); False when another writer was first."""
        ...


class GrayBoard:
    """One per process. `levels`: where models stand, so that a candidate taken off is given nobody."""

    def __init__(
        self, models: Sequence[str], store: GrayStore, clock: Clock, levels: Callable[[], Mapping[str, Level]]
    ) -> None:
        self._models, self._store, self._clock, self._levels = tuple(models), store, clock, levels
        self._known: dict[str, GrayRelease] = {}
        self._splitting: dict[str, GrayRelease] = {}

    def drawn(self, model: str, session: str) -> Drawn | None:
        """Who serves `session` of `model`; None: no release is under way, or its candidate is off."""
        release = self._splitting.get(model)
        if release is None:
            return None
        if not release.takes(session):
            return Drawn(model=model, arm=release.stable_arm)
        if self._levels().get(release.candidate, Level.HEALTHY) in SHUT:
            return None  # neither arm: who comes instead of the sick is no fair sample of the stable
        return Drawn(model=release.candidate, arm=release.gray_arm)

    def release(self, model: str) -> GrayRelease | None:
        """The last known document."""
        return self._known.get(model)

    def adopt(self, models: Sequence[str]) -> None:
        """Go on with other models; a release of one that is gone splits nothing from the next poll on."""
        self._models = tuple(models)

    async def poll(self) -> None:
        """Read the documents anew. Raises StoreUnavailable."""
        # A release that ends says so in its document; one that is missing was lost by the store, and goes on.
        self._known |= await self._store.load(self._models)
        known = set(self._models)
        self._splitting = {
            model: release
            for model, release in self._known.items()
            if release.split > 0.0 and release.candidate in known
        }

    async def run(self, every_s: float) -> None:
        """Poll until cancelled."""
        while True:
            with contextlib.suppress(StoreUnavailable):
                await self.poll()
            await self._clock.sleep(every_s)

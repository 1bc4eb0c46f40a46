"""A transition log that keeps moves on disk while the database is away, and hands them in when it is back.

The log itself keeps each (model, epoch) once, so a move that is handed in twice, or also back-filled by another replica
from the document, stays one.  Source: SPEC, One truth: records queue on disk, bounded, and are replayed.
"""

import asyncio
import logging

from base.clock import Clock
from breaker.ports import StoreUnavailable, TransitionLog
from breaker.snapshot import Transition
from store.documents import from_json, to_json
from store.spool import Spool
from store.sql_link import RowRefused
from store.sql_why import why

log = logging.getLogger(__name__)
RETRY_S = 2.0
"""Real seconds between two looks at the database while moves wait."""


class SpooledTransitions:
    """`inner` with a spool before it. `run` replays in the background; `refused` counts those nobody can keep."""

    def __init__(self, inner: TransitionLog, spool: Spool) -> None:
        self._inner, self._spool = inner, spool
        self._one_at_a_time = asyncio.Lock()
        self.refused = 0
        self.waits_since: float | None = None
        """When the oldest move happened that the database has not taken yet, as far as this process knows; None: it took all.

        It may still be read meanwhile: a full disk answers every question and takes nothing.
        """

    @property
    def spooled_bytes(self) -> int:
        return self._spool.size_bytes

    async def append(self, transition: Transition) -> bool:
        """False when already kept. Raises StoreUnavailable only if neither database nor disk takes it."""
        async with self._one_at_a_time:
            try:
                await self._replay()  # in order: alerts follow the newest move
                kept = await self._keep(transition)
                self.waits_since = None
                return kept
            except StoreUnavailable:
                self.waits_since = min(self.waits_since or transition.at, transition.at)
                await self._spill(transition)
                return True

    async def _spill(self, transition: Transition) -> None:
        try:
            fitted = await asyncio.to_thread(self._spool.append, [to_json(transition)])
        except OSError as error:
            said = self._disk_said(error)
            log.error("a transition of %s waits in memory: %s", transition.model, said)
            raise StoreUnavailable(said) from error
        if not fitted:
            raise StoreUnavailable(
                f"spool {self._spool.folder} is full: bring the database back, or raise spool_max_bytes"
            )

    async def replay(self) -> None:
        """Hand in what waits on disk. Raises StoreUnavailable."""
        async with self._one_at_a_time:
            await self._replay()

    async def _replay(self) -> None:
        if not self._spool:
            return
        try:
            while (segment := await asyncio.to_thread(self._spool.oldest)) is not None:
                file, records = segment
                for record in records:
                    if (transition := self._read(record)) is not None:
                        await self._keep(transition)
                await asyncio.to_thread(self._spool.taken, file)
            self.waits_since = None
        except OSError as error:
            raise StoreUnavailable(self._disk_said(error)) from error

    def _disk_said(self, error: OSError) -> str:
        return f"spool {self._spool.folder}: {why(error)}"

    async def _keep(self, transition: Transition) -> bool:
        try:
            return await self._inner.append(transition)
        except RowRefused:
            # However often it is sent: it must not stand before all that follow.
            log.error("the database refuses a transition of %s", transition.model)
            self.refused += 1
            return False

    def _read(self, record: bytes) -> Transition | None:
        try:
            return from_json(Transition, record)
        except StoreUnavailable:
            self.refused += 1
            return None

    async def run(self, clock: Clock) -> None:
        """Look for the database every two real seconds while moves wait, until cancelled."""
        while True:
            try:
                await self.replay()
            except StoreUnavailable as error:
                log.info("transitions wait on disk: %s", error)
            await clock.sleep(RETRY_S / clock.real_s(1.0))


_log: type[TransitionLog] = SpooledTransitions

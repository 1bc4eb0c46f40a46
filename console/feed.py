"""Keeps what the fleet page shows fresh, so that a page costs no round trip to a store, and tells pages when it changed.

One per process. Counts are read model by model, one after another; the pause after each round is as long as it takes to
keep the share of time spent reading at a tenth. Levels come from memory and are looked at every second.
Posture when the store is gone: the last rows stay, marked with their age.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Sequence

from base.clock import Clock
from breaker.explain import Explanation
from breaker.ports import StoreUnavailable
from breaker.window import MinuteRow
from console.fleet_now import FleetNow, Row, in_order, row_of
from console.fleet_ports import AuditTrail, Known, Refusal, Share, Yard

log = logging.getLogger("pointsman.console")
LOOK_S = 1.0
READ_S = 2.0
IDLE_READ_S = 15.0
WATCHED_S = 60.0
BUSY_RATIO = 9.0
"""Pause at least so many times as long as the round took."""

Studied = tuple[Explanation | None, Sequence[MinuteRow], float]


class Feed:
    """`version` grows with each change that a reader could see."""

    def __init__(self, yard: Yard, audit: AuditTrail, clock: Clock) -> None:
        self._yard, self._audit, self._clock = yard, audit, clock
        self._studied: dict[str, Studied] = {}
        self._unread = ""
        self._changed = asyncio.Condition()
        self._seen_at = -WATCHED_S
        self._print: object = None
        self._rows: dict[str, tuple[object, Row]] = {}
        self._known: dict[str, Known] = {}  # a reload of the settings starts a new feed
        self._reading = asyncio.Lock()
        self.version = 0
        self.watchers = 0

    def watched(self) -> None:
        """Somebody looks: read often for the next minute."""
        self._seen_at = self._real_s()

    async def now(self) -> FleetNow:
        """The fleet as last read; reads once if nothing was read yet."""
        await self._ready()
        return self._fleet()

    async def row(self, model: str) -> Row:
        """One model as last read. Raises KeyError."""
        self._yard.snapshot(model)
        await self._ready()
        return self._row(model, self._yard.shares(model), self._yard.refusals().get(model, ()))

    async def _ready(self) -> None:
        self.watched()
        if any(model not in self._studied for model in self._yard.models):
            await self.read()

    def _fleet(self) -> FleetNow:
        yard, shares, refusals = self._yard, self._yard.all_shares(), self._yard.refusals()
        return FleetNow(
            at=yard.now_s(),
            rows=in_order(self._row(model, shares.get(model, ()), refusals.get(model, ())) for model in yard.models),
            phrase_only=tuple(yard.phrase_only_routes()),
            errors_only=tuple(yard.errors_only_routes()),
            detector_suspect=yard.detector_suspect(),
            store_down=yard.store_down(),
            sql_fails=self._unread or yard.database_fails(),
        )

    def _row(self, model: str, shares: Sequence[Share], refusals: Sequence[Refusal]) -> Row:
        """Worked out anew only when something it is made of has changed: most models most of the time have not."""
        yard, (explanation, minutes, read_at) = self._yard, self._studied.get(model, (None, (), self._yard.now_s()))
        made_of = (explanation, read_at, yard.snapshot(model), tuple(shares), tuple(refusals))
        kept = self._rows.get(model)
        if kept is not None and kept[0] == made_of:
            return kept[1]
        known = self._known.get(model) or self._known.setdefault(model, yard.known(model))
        row = row_of(
            known,
            yard.snapshot(model),
            explanation,
            minutes,
            shares,
            refusals,
            now_s=read_at,
            grace_s=yard.policy.grace_s,
        )
        self._rows[model] = (made_of, row)
        return row

    async def read(self) -> None:
        """One round over all models. A store that is gone leaves the last figures in place."""
        async with self._reading:
            for model in self._yard.models:
                try:
                    explanation, seen = await self._yard.study(model)
                except StoreUnavailable:
                    for unread in self._yard.models:
                        self._studied.setdefault(unread, (None, (), self._yard.now_s()))
                    break
                self._studied[model] = (explanation, tuple(seen.minutes), self._yard.now_s())
            try:
                await self._audit.acts(limit=1)
                self._unread = ""
            except StoreUnavailable as error:
                self._unread = str(error)

    async def run(self) -> None:
        """Read and look until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read_on())
            tasks.create_task(self._look_on())

    async def _read_on(self) -> None:
        while True:
            began_s = self._real_s()
            with _logged():
                await self.read()
            took_s = self._real_s() - began_s
            await self._sleep(max(READ_S if self._is_watched() else IDLE_READ_S, BUSY_RATIO * took_s))

    async def _look_on(self) -> None:
        while True:
            if self._is_watched():
                with _logged():
                    await self._tell_if_changed()
            await self._sleep(LOOK_S)

    async def _tell_if_changed(self) -> None:
        fleet = self._fleet()
        print_ = (
            tuple(
                (row.model, row.snapshot.epoch, row.n, row.k, row.hard, row.per_min, row.level, row.refusals)
                for row in fleet.rows
            ),
            fleet.phrase_only,
            fleet.errors_only,
            fleet.detector_suspect,
            fleet.store_down,
            fleet.sql_fails,
        )
        if print_ != self._print:
            self._print = print_
            async with self._changed:
                self.version += 1
                self._changed.notify_all()

    def _is_watched(self) -> bool:
        return self.watchers > 0 or self._real_s() - self._seen_at < WATCHED_S

    async def change_after(self, version: int, wait_s: float) -> int:
        """The newest version, at once if it is another than `version`, else when it changes or `wait_s` real seconds passed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s), self._changed:
                await self._changed.wait_for(lambda: self.version != version)
        return self.version

    def _real_s(self) -> float:
        return self._clock.real_s(self._clock.monotonic_s())

    async def _sleep(self, real_s: float) -> None:
        await self._clock.sleep(real_s / self._clock.real_s(1.0))


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    """A round that fails once must not end the loop."""
    try:
        yield
    except Exception:
        log.exception("the fleet view was not refreshed")

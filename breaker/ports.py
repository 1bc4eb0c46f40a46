"""What the breaker needs kept. Fulfilled by store/ over Redis, SQL and memory.

Posture when a store is gone: reads use the last known snapshot, else HEALTHY; counts stay in memory and are written later.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from breaker.snapshot import Snapshot, Transition
from breaker.window import FastRow, MinuteRow


class StoreUnavailable(Exception):
    """The store did not answer in time; nothing is known to have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTally:
    """Probe results of one model under one epoch, oldest first; True = clean."""

    epoch: int
    granted: int
    results: tuple[bool, ...] = ()


class CountStore(Protocol):
    """Rolling counters. All methods raise StoreUnavailable."""

    async def flush(self, boot_id: str, minutes: Sequence[MinuteRow], fast: Sequence[FastRow]) -> Set[str]:
        """Write this writer's absolute counts; writing the same again changes nothing.

        Returns the models of which the store had not known this writer: if it wrote before, the store has forgotten.
        """

    async def minutes(self, model: str, first: int, last: int) -> Sequence[MinuteRow]:
        """Counts of minutes `first..last`, summed over writers, every scope, oldest first; empty minutes left out."""

    async def fast(self, model: str, first: int, last: int) -> Sequence[FastRow]:
        """5-second buckets `first..last`, merged over writers, oldest first."""

    async def minutes_of(
        self, models: Sequence[str], first: int, last: int, *, scope: str | None = None
    ) -> Mapping[str, Sequence[MinuteRow]]:
        """What `minutes` gives, for several models in few questions; with `scope`, rows of that scope only."""

    async def fast_of(self, models: Sequence[str], first: int, last: int) -> Mapping[str, Sequence[FastRow]]:
        """What `fast` gives, for several models in few questions."""


class StateStore(Protocol):
    """State documents. All methods raise StoreUnavailable."""

    async def load(self, models: Sequence[str]) -> Mapping[str, Snapshot]:
        """The documents that exist."""

    async def compare_and_set(self, snapshot: Snapshot, expected_epoch: int) -> bool:
        """Store if the kept epoch is `expected_epoch` (0: none kept yet); False when another writer was first."""


class ProbeStore(Protocol):
    """The fleet-wide budget of permits. All methods raise StoreUnavailable."""

    async def lease(self, model: str, epoch: int, want: int, budget: int, lease_s: float) -> int:
        """Grant up to `want` permits of `budget` under `epoch`; 0 when spent. Expired leases return to the budget."""

    async def give_back(self, model: str, epoch: int, count: int) -> None: ...

    async def settle(self, model: str, epoch: int, clean: bool) -> None:
        """Record one probe result; ignored when `epoch` is not the one of the tally."""

    async def tally(self, model: str, epoch: int) -> ProbeTally: ...


class Lease(Protocol):
    """A lease that one process of the fleet holds, with a fence that grows at each take-over."""

    async def hold(self, name: str, owner: str, ttl_s: float) -> int | None:
        """Take or renew; the fence number, or None while another owner holds it. Raises StoreUnavailable."""

    async def release(self, name: str, owner: str) -> None: ...


class TransitionLog(Protocol):
    """Transitions for good, unique on (model, epoch); the first writer also files the alert."""

    async def append(self, transition: Transition) -> bool:
        """False when that (model, epoch) is already kept."""

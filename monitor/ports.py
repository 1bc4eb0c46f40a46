"""What the monitor needs kept: the findings handed in to be told, and the slots of its clock jobs.

Posture when the store is gone: nothing is told now, and whoever has a finding hands it in again. A job whose slot cannot
be claimed does not run. What telling itself needs kept: monitor/alerts/ports.py.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from monitor.alerts.alert import Alert
from monitor.jobs import JobRun, RunState


class JobSlots(Protocol):
    """Which slot of which job has run: each runs once. All methods raise breaker.ports.StoreUnavailable."""

    async def claim(self, job: str, slot: str, owner: str, fence: int, now: float, *, due_at: float) -> int | None:
        """The number of this try (from 1) if `owner` may run the slot; None: it ran, or another runs it.

        One that a leader of a lower fence left running, that was asked for, or that failed and is to be tried again by
        now, may be claimed too.
        """
        ...

    async def finish(
        self, job: str, slot: str, fence: int, now: float, *, error: str = "", retry_at: float | None = None
    ) -> bool:
        """Mark it done, or failed with `error`; False if a leader of a higher fence has it now."""
        ...

    async def note(self, job: str, slot: str, state: RunState, now: float, *, due_at: float, detail: str = "") -> bool:
        """Write a slot that nobody runs (known, asked, missed); False if there is one of that name."""
        ...

    async def newest(self, jobs: Sequence[str], now: float) -> Mapping[str, float]:
        """When the newest slot of each job was due, as far as known; slots started by hand do not count."""
        ...

    async def open(self, now: float, fence: int) -> Sequence[JobRun]:
        """What a leader of `fence` may claim besides new slots, oldest first."""
        ...

    async def last(self, job: str | None = None, limit: int = 50) -> Sequence[JobRun]:
        """Newest first; of one job if given."""
        ...


class AlertDesk(Protocol):
    """Where findings are handed in. All methods raise breaker.ports.StoreUnavailable: hand in again."""

    async def fire(self, alert: Alert) -> None:
        """The condition holds; repeating it is harmless."""
        ...

    async def resolve(self, alert: Alert) -> None:
        """It holds no more; `alert.facts` say how it ended. One that was never fired is ignored."""
        ...

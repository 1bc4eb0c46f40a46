"""What the monitor needs kept: the outbox of alerts, and the slots of its clock jobs.

Posture when the store is gone: nothing is sent now, nothing is lost; the rows wait where they were filed. A job whose
slot cannot be claimed does not run.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from monitor.alerts.alert import Alert


class Owed(Protocol):
    """One message owed to one channel. `tries` counts marks so far; `body` is the alert, field by field."""

    @property
    def id(self) -> int: ...
    @property
    def alert_id(self) -> str: ...
    @property
    def channel(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def body(self) -> Mapping[str, Any]: ...
    @property
    def tries(self) -> int: ...


class Outbox(Protocol):
    """Alerts filed and not yet told. All methods raise breaker.ports.StoreUnavailable."""

    async def pending(self, now: float, limit: int = 100) -> Sequence[Owed]: ...

    async def mark(
        self, id: int, state: str, *, at: float | None = None, due_at: float | None = None, detail: str = ""
    ) -> None: ...


class JobSlots(Protocol):
    """Which slot of which job has run: each runs once. All methods raise breaker.ports.StoreUnavailable."""

    async def claim(self, job: str, slot: str, owner: str, fence: int, now: float) -> bool:
        """Whether `owner` may run the slot; one that a leader of a lower fence left running may be taken over."""
        ...

    async def finish(self, job: str, slot: str, fence: int, now: float, *, error: str = "") -> bool:
        """Mark it done, or failed with `error`; False if a leader of a higher fence has it now."""
        ...


class AlertDesk(Protocol):
    """Where findings are handed in. All methods raise breaker.ports.StoreUnavailable: hand in again."""

    async def fire(self, alert: Alert) -> None:
        """The condition holds; repeating it is harmless."""
        ...

    async def resolve(self, alert: Alert) -> None:
        """It holds no more; `alert.facts` say how it ended. One that was never fired is ignored."""
        ...

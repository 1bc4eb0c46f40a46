"""What the console reads and does. Fulfilled in pointsman/ by the guard and the store.

Posture when the store is gone: reads show the last known state and say so; an act that cannot be written down is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from breaker.explain import Explanation
from breaker.levels import Mode
from breaker.snapshot import Snapshot, Transition


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A model's part of one route's traffic, 0..1."""

    route: str
    configured: float
    effective: float


class Fleet(Protocol):
    """All methods but `models` raise KeyError for an unknown model; async ones raise StoreUnavailable."""

    @property
    def models(self) -> Sequence[str]: ...
    def snapshot(self, model: str) -> Snapshot: ...
    def shares(self, model: str) -> Sequence[Share]: ...
    def store_down(self) -> bool: ...
    async def explain(self, model: str) -> Explanation: ...
    async def force(self, model: str, mode: Mode, actor: str, reason: str, until: float) -> Snapshot: ...
    async def reset(self, model: str, actor: str, reason: str) -> Snapshot: ...
    def now_s(self) -> float: ...


class Audit(Protocol):
    """Who did what. Raises StoreUnavailable: then the act is not done."""

    async def record(
        self, *, actor: str, action: str, target: str, reason: str, details: Mapping[str, object], role: str = "admin"
    ) -> None: ...


class History(Protocol):
    async def transitions(
        self, model: str | None = None, *, since: float = 0.0, limit: int = 200
    ) -> Sequence[Transition]: ...

"""What the console reads of the fleet and does to it, and what is written down of each act. Fulfilled in pointsman/fleet.py and by the store.

Posture when the store is gone: reads show the last known state and say so; an act that cannot be written down is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from breaker.explain import Explanation
from breaker.levels import Mode
from breaker.policy import BreakerPolicy
from breaker.seen import Seen
from breaker.snapshot import Snapshot, Transition
from breaker.window import MinuteRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A model's part of one route's traffic, 0..1."""

    route: str
    configured: float
    effective: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the settings say of a model. `endpoints` are host names only: a URL may hold a key."""

    model: str
    vendor: str = ""
    routes: tuple[str, ...] = ()
    scenes: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One endpoint (an index, as in the settings) that is left alone until `again_at`, since its vendor said so at `told_at`.

    `waits`: asked to wait (429); else our key, account or model name is turned away (401, 402, 403, 404).
    `others`: endpoints of the model that are not left alone.
    """

    endpoint: int
    status: int
    waits: bool
    told_at: float
    again_at: float
    others: int = 0


class Fleet(Protocol):
    """All methods but `models` raise KeyError for an unknown model; async ones raise StoreUnavailable."""

    @property
    def models(self) -> Sequence[str]: ...
    def snapshot(self, model: str) -> Snapshot: ...
    def shares(self, model: str) -> Sequence[Share]: ...
    def refusals(self) -> Mapping[str, Sequence[Refusal]]:
        """By model; those that nobody refuses are left out."""

    def store_down(self) -> bool: ...
    def database_fails(self) -> str:
        """Why the database took no rows at the last try; empty while it does."""

    async def explain(self, model: str) -> Explanation: ...
    async def force(self, model: str, mode: Mode, actor: str, reason: str, until: float) -> Snapshot: ...
    async def reset(self, model: str, actor: str, reason: str) -> Snapshot: ...
    def now_s(self) -> float: ...


class Yard(Fleet, Protocol):
    """The fleet as the pages need it: with what each model is, and the counts behind each explanation."""

    @property
    def policy(self) -> BreakerPolicy: ...
    def known(self, model: str) -> Known: ...

    def all_shares(self) -> Mapping[str, Sequence[Share]]:
        """What `shares` says of every model, worked out once."""

    def phrase_only_routes(self) -> Sequence[str]:
        """Routes in which no model may answer, so that users get prepared phrases."""

    def errors_only_routes(self) -> Sequence[str]:
        """Such routes that have no phrases either: users get an error."""

    def detector_suspect(self) -> bool: ...
    async def study(self, model: str) -> tuple[Explanation, Seen]: ...
    async def minutes(self, model: str, first: int, last: int) -> Sequence[MinuteRow]:
        """Every scope of the model; minutes are epoch seconds // 60. Raises StoreUnavailable."""


class Audit(Protocol):
    """Who did what. Raises StoreUnavailable: then the act is not done."""

    async def record(
        self, *, actor: str, action: str, target: str, reason: str, details: Mapping[str, object], role: str = "admin"
    ) -> int:
        """Write an act down, before it is tried; its number, for `turned_away`."""

    async def turned_away(self, number: int, status: int) -> None:
        """Say of an act that was written down that it was answered with `status`, 400 or more."""


class History(Protocol):
    async def transitions(
        self, model: str | None = None, *, since: float = 0.0, limit: int = 200
    ) -> Sequence[Transition]: ...


NOT_DONE = "refused"
"""The name in an act's details under which the status of a refusal stands."""
OLDER_NAMES = {f"{word}_alert": f"{word}_incident" for word in ("ack", "unack", "note", "close")}
"""Acts that the admin API once wrote under names of its own, and the name that every way writes now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act of a person, a line of the audit log. `details` hold the values before and after, never a key.

    One that was not done holds in `details` the HTTP status of the answer as `refused`: below 500 it was refused, else it failed.
    """

    at: float
    actor: str
    role: str
    action: str
    target: str
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The status that it was turned away with; 0: it was done."""
        return int(self.details.get(NOT_DONE, 0))

    @property
    def outcome(self) -> str:
        """done, refused, or failed: something of ours was away, and whether it was done nobody can tell."""
        return "done" if not self.status else "refused" if self.status < 500 else "failed"


class AuditTrail(Audit, Protocol):
    """The audit log, written and read. All methods raise StoreUnavailable."""

    async def acts(
        self, *, actor: str = "", action: str = "", target: str = "", before: float | None = None, limit: int = 100
    ) -> Sequence[Act]:
        """Newest first; texts match whole."""

"""What the console reads and does of alerts: incidents with their timeline, letters sent, silences, channels.

Posture when the store is gone: StoreUnavailable; nothing was changed. Moments are seconds since the epoch, ratios 0..1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentRow:
    """One condition that was told or is to be.

    `state`: firing, acked, silenced, resolved. `muted`: why it is not told now ("": it is); `announced`: people know it.
    `nobody_to_tell`: it was due to be told, and no channel is there for it. `facts`: the figures of the last finding, by name.
    """

    id: int
    ref: str
    kind: str
    subject: str
    model: str
    scene: str
    severity: str
    peak_severity: str
    stage: str
    state: str
    muted: str
    opened_at: float
    updated_at: float
    resolved_at: float | None
    peak_ratio: float
    samples: int
    acked_at: float | None
    acked_by: str
    announced: bool
    told_at: float | None
    escalation: int
    moment: bool
    nobody_to_tell: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One thing that happened to an incident. `event`: fired, changed, told, nobody_told, acked, noted, escalated, resolved …"""

    at: float
    event: str
    actor: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """One message to one channel. `state`: pending, sending, sent, moved, failed, expired, no_channel; `detail` says why."""

    id: int
    notice: str
    channel: str
    model: str
    kind: str
    why: str
    severity: str
    state: str
    tries: int
    detail: str
    created_at: float
    due_at: float
    sent_at: float | None


MATCHERS = ("kind", "model", "subject", "scene")
"""By what a silence chooses; names may be globs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceAsked:
    """What a person does not want to hear of for so many minutes. An empty field matches all; `starts_at` None: now."""

    kind: str
    model: str
    subject: str
    scene: str
    author: str
    reason: str
    minutes: float
    starts_at: float | None = None

    @property
    def target(self) -> str:
        """As the audit log names it."""
        named = ((name, getattr(self, name)) for name in MATCHERS)
        return ", ".join(f"{name}={value}" for name, value in named if value) or "everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceRow:
    """What nobody wants to hear of for a while. `state`: active, coming, over. An empty field matches all."""

    id: int
    state: str
    kind: str
    model: str
    subject: str
    scene: str
    author: str
    reason: str
    starts_at: float
    ends_at: float
    ended_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRow:
    """One robot. `state`: ok, resting (it said "too often"), broken. Its address is shown nowhere."""

    name: str
    kind: str
    language: str
    backup: str
    state: str
    detail: str
    since: float | None
    posts_last_minute: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a robot answered to a test. `result`: ok, retry, rate, shrink, config."""

    result: str
    detail: str
    took_s: float


class AlertRoom(Protocol):
    """All methods raise breaker.ports.StoreUnavailable."""

    def kinds(self) -> Sequence[str]: ...
    def known(self, field: str) -> Sequence[str] | None:
        """The names there are now of a field of MATCHERS; None where nobody can tell."""
        ...

    def channel_names(self) -> Sequence[str]: ...

    async def incidents(
        self,
        *,
        open: bool | None = None,
        model: str = "",
        kind: str = "",
        before: float | None = None,
        limit: int = 100,
    ) -> Sequence[IncidentRow]:
        """Newest first. `open`: only those that hold, only those that are over, or both; `before`: opened before then."""
        ...

    async def incident(self, id: int) -> IncidentRow | None: ...
    async def events(self, id: int) -> Sequence[EventRow]:
        """Oldest first."""
        ...

    async def deliveries(
        self, *, incident: int | None = None, state: str = "", channel: str = "", limit: int = 100
    ) -> Sequence[DeliveryRow]:
        """Newest first."""
        ...

    async def ack(self, id: int, actor: str, text: str) -> bool:
        """Stop repeats and escalation. False: it is over, or there is none."""
        ...

    async def unack(self, id: int, actor: str, text: str) -> bool: ...
    async def note(self, id: int, actor: str, text: str) -> bool: ...

    async def close(self, id: int, actor: str, text: str) -> bool:
        """End by hand what nobody will report the end of. False: it is over, or there is none."""
        ...

    async def silences(self, *, past: bool = False) -> Sequence[SilenceRow]: ...

    async def silence(self, asked: SilenceAsked) -> SilenceRow: ...

    async def unsilence(self, id: int, actor: str) -> bool:
        """False: it is over, or there is none."""
        ...

    async def channels(self) -> Sequence[ChannelRow]: ...

    async def test(self, channel: str, actor: str) -> Said:
        """Send a real test message; a robot that takes it is mended. Raises KeyError for an unknown channel."""
        ...

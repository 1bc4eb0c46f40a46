"""What telling needs kept: what was told of which incident, and the letters owed to each channel.

Posture when the store is gone: nothing is told now and nothing is lost; incidents wait where they were filed. All methods
raise breaker.ports.StoreUnavailable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from monitor.alerts.alert import Severity
from monitor.alerts.decide import Group, Notice
from monitor.alerts.incident import Incident
from monitor.alerts.mute import Silence


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """What the failed replies of a model say: how many of each class and scene, and one shortened, redacted sample."""

    classes: Mapping[str, int] = field(default_factory=dict)
    scenes: Mapping[str, int] = field(default_factory=dict)
    sample: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One message owed to one channel. `body` is the notice as it was decided; `tries` counts failed ones alone.

    `alert_id` is the notice's; unique with the channel. Rests after a rate limit use up no try.
    """

    id: int
    alert_id: str
    channel: str
    severity: Severity
    body: Mapping[str, Any]
    tries: int
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Robot:
    """What is known of one channel's robot by the whole fleet. `broken_at`: since when it refuses us, if it does."""

    channel: str
    rest_until: float = 0.0
    broken_at: float | None = None
    tried_at: float = 0.0
    detail: str = ""


class NoticeBook(Protocol):
    """What people were told."""

    async def waiting(self) -> Sequence[Incident]:
        """Incidents that are not settled, oldest first; where there are very many, the gravest and the untold of them."""
        ...

    async def groups(self) -> Mapping[str, Group]: ...

    async def silences(self, now_s: float) -> Sequence[Silence]:
        """Those not over at `now_s`."""
        ...

    async def file(self, notice: Notice, channels: Sequence[str], body: Mapping[str, Any]) -> bool:
        """In one transaction: a letter per channel, the group's next number, and each member marked as told.

        False, and nothing written: another process has told the group something since `notice` was decided.
        """
        ...

    async def settle(self, quiet: Sequence[Incident]) -> None:
        """Close what ended before anybody was told of it."""
        ...


class Dossiers(Protocol):
    async def about(self, model: str, since: float, until: float) -> Dossier:
        """Of what failed within that time, its ends included."""
        ...


class Outbox(Protocol):
    """Letters filed and not yet sent, the robots' states, and every try: the budgets are counted from the tries."""

    async def due(self, now_s: float, limit: int = 200) -> Sequence[Letter]:
        """What may be sent now: CRITICAL ones, then the oldest. One that another process is sending is not due until its
        claim ends."""
        ...

    async def claim(self, id: int, owner: str, now_s: float, until: float) -> bool:
        """Whether the letter is `owner`'s to send until then."""
        ...

    async def asked(self, channel: str, at: float, posts: int, result: str, detail: str, *, letter: int = 0) -> None:
        """Note that the robot was asked so often, and what it said; `letter` 0: a test."""
        ...

    async def posts(self, since: float) -> Mapping[str, int]:
        """How often each channel's robot was asked since then, by the whole fleet."""
        ...

    async def sent(self, ids: Sequence[int], owner: str, at: float, detail: str = "") -> None: ...

    async def later(self, ids: Sequence[int], owner: str, due_at: float, detail: str, *, failed: bool) -> None:
        """Owed again from `due_at` on; `failed` uses up a try."""
        ...

    async def wait(self, ids: Sequence[int], until: float) -> None:
        """Not due before then; nothing was tried."""
        ...

    async def drop(self, ids: Sequence[int], state: str, detail: str) -> None:
        """Never to be sent: `failed`, `expired` or `no_channel`."""
        ...

    async def hand_over(self, id: int, channel: str, now_s: float, detail: str) -> bool:
        """Let another channel tell it instead. False, and nothing written, if that one has a letter of its own."""
        ...

    async def robots(self) -> Mapping[str, Robot]: ...

    async def rest(self, channel: str, until: float, detail: str) -> None: ...

    async def broken(self, channel: str, at: float, detail: str) -> bool:
        """Note that it was tried in vain; whether that is news."""
        ...

    async def mended(self, channel: str) -> bool:
        """Whether it was broken until now."""
        ...

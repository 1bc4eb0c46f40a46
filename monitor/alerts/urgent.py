"""While the database is away: models that were cut or opened are told all the same, without it.

No incident can be filed then, so the message has no number and no link; when the database is back the move is filed and
told as ever. A once-key in Redis lets one monitor alone tell it; with Redis gone as well, each tells it. The robots' budgets
hold here too: of each robot's minute the part that is kept for the gravest, what is more goes as one digest.
Source: BREAKER.md, Redis (transitions with SQL down).
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx

from base.clock import Clock
from breaker.levels import Level
from breaker.ports import Lease, StoreUnavailable
from breaker.snapshot import Transition
from monitor.alerts.budget import MINUTE_S
from monitor.alerts.channel import Channel, Language, Result
from monitor.alerts.decide import Group, Notice, Why
from monitor.alerts.deliver import deliver
from monitor.alerts.incident import fired
from monitor.alerts.moves import alert_of
from monitor.alerts.notify import body_of
from monitor.alerts.policy import AlertPolicy
from monitor.alerts.ports import Outbox
from monitor.alerts.render import Renderer
from monitor.counts import MonitorCounts

log = logging.getLogger(__name__)
GRAVE = frozenset({Level.REDUCED, Level.OPEN})
ONCE_S = 86_400.0
KEPT_NOTES = 1_000
NOTE: dict[Language, str] = {
    "zh": "> 数据库暂时无法写入，先行通知；恢复后会再发一条带编号的消息。",
    "en": "> The database takes nothing at the moment; a message with a number follows when it does.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """One message that went out without the database, to be written down when it is back."""

    channel: str
    at: float
    posts: int
    result: str
    detail: str


class Urgent:
    """`moves`: the newest transitions of all models, as the breaker's documents carry them."""

    def __init__(
        self,
        moves: Callable[[], Iterable[Transition]],
        lease: Lease,
        owner: str,
        channels: Sequence[Channel],
        renderer: Renderer,
        client: httpx.AsyncClient,
        clock: Clock,
        policy: AlertPolicy | None = None,
        counts: MonitorCounts | None = None,
    ) -> None:
        self._moves, self._lease, self._owner = moves, lease, owner
        self._channels, self._renderer, self._client, self._clock = tuple(channels), renderer, client, clock
        self._policy, self._counts = policy or AlertPolicy(), counts or MonitorCounts()
        self._done: set[tuple[str, int]] = set()
        self._noted: deque[Noted] = deque(maxlen=KEPT_NOTES)
        self._posted: dict[str, deque[float]] = {}
        self._asked = 0

    async def once(self, since: float) -> int:
        """Tell what moved up after `since`; how many moves. One that no robot takes is tried again at the next call."""
        owed = [move for move in self._moves() if await self._is_mine(move, since)]
        taken: set[tuple[str, int]] = set()
        for channel in self._channels if owed else ():
            for batch in _batches(owed, await self._room(channel.name, len(owed))):
                if await self._tell(batch, channel):
                    taken.update((move.model, move.epoch) for move in batch)
        if not self._channels:
            taken.update((move.model, move.epoch) for move in owed)
        self._done |= taken
        return len(taken)

    async def note(self, outbox: Outbox) -> None:
        """Write down what went out meanwhile: it counts against the robots' budgets. Raises StoreUnavailable."""
        while self._noted:
            one = self._noted[0]
            await outbox.asked(one.channel, one.at, one.posts, one.result, one.detail)
            self._noted.popleft()

    async def _is_mine(self, move: Transition, since: float) -> bool:
        key = (move.model, move.epoch)
        if key in self._done or move.at <= since or move.to_level not in GRAVE or not move.enforced:
            return False
        if await self._first(move):
            return True
        self._done.add(key)
        return False

    async def _first(self, move: Transition) -> bool:
        try:
            ttl_s = ONCE_S / self._clock.real_s(1.0)
            return await self._lease.hold(f"urgent:{move.model}:{move.epoch}", self._owner, ttl_s) is not None
        except StoreUnavailable:
            return True

    async def _room(self, channel: str, wanted: int) -> int:
        """How many messages the robot may be sent now: the part of its budget that is kept for what is grave.

        Counted by leases of a minute, one a message, because the budget's own table is away; without Redis by this
        process alone.
        """
        minute_s, most = MINUTE_S / self._clock.real_s(1.0), max(1, self._policy.budget_reserved)
        room = 0
        try:
            for place in range(most):
                if room == wanted:
                    break
                self._asked += 1
                name = f"urgent-post:{channel}:{place}"
                room += await self._lease.hold(name, f"{self._owner}:{self._asked}", minute_s) is not None
        except StoreUnavailable:
            now_s, posted = self._clock.now_s(), self._posted.setdefault(channel, deque(maxlen=most))
            room = min(wanted, most - sum(at > now_s - minute_s for at in posted))
            posted.extend([now_s] * room)
        return room

    async def _tell(self, moves: Sequence[Transition], channel: Channel) -> bool:
        now_s = self._clock.now_s()
        bodies = [_body(move, now_s) for move in moves]
        if len(bodies) == 1:
            message = self._renderer.message(bodies[0], channel.language)
        else:
            message = self._renderer.digest(bodies, channel.language)
        message = replace(message, markdown=f"{message.markdown}\n{NOTE[channel.language]}")
        said = await deliver(self._client, channel, message, self._clock.real_s(now_s))
        self._counts.deliveries[channel.name, said.result.value] += 1
        told = "told without the database"
        self._noted.append(
            Noted(
                channel=channel.name, at=now_s, posts=said.posts, result=said.result.value, detail=said.detail or told
            )
        )
        models = ", ".join(move.model for move in moves)
        log.warning("%s: %s of %s: %s %s", told, channel.name, models, said.result, said.detail)
        return said.result is Result.OK


def _batches(owed: Sequence[Transition], room: int) -> list[Sequence[Transition]]:
    """One message for each move while there is room; the last takes all that are left."""
    if room <= 0:
        return []
    alone: list[Sequence[Transition]] = [(move,) for move in owed]
    return alone if len(alone) <= room else [*alone[: room - 1], tuple(owed[room - 1 :])]


def _body(move: Transition, now_s: float) -> Mapping[str, Any]:
    change = fired(None, alert_of(move))
    assert change is not None
    group = Group(key=f"urgent|{move.model}")
    return body_of(Notice(group=group, why=Why.FIRST, at=now_s, firing=(change.incident,)))

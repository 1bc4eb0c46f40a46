"""While the database is away: models that were cut or opened are told all the same, without it.

No incident can be filed then, so the message has no number and no link; when the database is back the move is filed and
told as ever. A once-key in Redis lets one monitor alone tell it; with Redis gone as well, each tells it.
Source: BREAKER.md, Redis (transitions with SQL down).
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import httpx

from base.clock import Clock
from breaker.levels import Level
from breaker.ports import Lease, StoreUnavailable
from breaker.snapshot import Transition
from monitor.alerts.channel import Channel, Language, Message, Result
from monitor.alerts.decide import Group, Notice, Why
from monitor.alerts.deliver import deliver
from monitor.alerts.incident import fired
from monitor.alerts.moves import alert_of
from monitor.alerts.notify import body_of
from monitor.alerts.render import Renderer

log = logging.getLogger(__name__)
GRAVE = frozenset({Level.REDUCED, Level.OPEN})
ONCE_S = 86_400.0
NOTE: dict[Language, str] = {
    "zh": "> 数据库暂时不可用，先行通知；恢复后会再发一条带编号的消息。",
    "en": "> The database is away; a message with a number follows when it is back.",
}


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
    ) -> None:
        self._moves, self._lease, self._owner = moves, lease, owner
        self._channels, self._renderer, self._client, self._clock = tuple(channels), renderer, client, clock
        self._done: set[tuple[str, int]] = set()

    async def once(self, since: float) -> int:
        """Tell what moved up after `since`; how many moves. One that no robot takes is tried again at the next call."""
        told = 0
        for move in self._moves():
            key = (move.model, move.epoch)
            if key in self._done or move.at <= since or move.to_level not in GRAVE or not move.enforced:
                continue
            if not await self._first(move):
                self._done.add(key)
            elif await self._tell(move):
                self._done.add(key)
                told += 1
        return told

    async def _first(self, move: Transition) -> bool:
        try:
            ttl_s = ONCE_S / self._clock.real_s(1.0)
            return await self._lease.hold(f"urgent:{move.model}:{move.epoch}", self._owner, ttl_s) is not None
        except StoreUnavailable:
            return True

    async def _tell(self, move: Transition) -> bool:
        change = fired(None, alert_of(move))
        assert change is not None
        now_s = self._clock.now_s()
        group = Group(key=f"urgent|{move.model}")
        body = body_of(Notice(group=group, why=Why.FIRST, at=now_s, firing=(change.incident,)))
        taken = 0
        for channel in self._channels:
            message = self._message(self._renderer.message(body, channel.language), channel.language)
            said = await deliver(self._client, channel, message, self._clock.real_s(now_s))
            log.warning("told %s of %s without the database: %s %s", channel.name, move.model, said.result, said.detail)
            taken += said.result is Result.OK
        return taken > 0 or not self._channels

    @staticmethod
    def _message(message: Message, language: Language) -> Message:
        return replace(message, markdown=f"{message.markdown}\n{NOTE[language]}")

"""Sends the letters that are owed, one process of the fleet at a time.

Delivery is at least once: a letter is marked sent after the robot said so, and its alert id shows a duplicate. It is
claimed before it is sent, so that two senders that both believe to own the outbox send it once. A robot that says "too
often" rests, one that refuses us is broken; meanwhile another channel tells what this one cannot.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

import httpx

from base.clock import Clock
from breaker.ports import Lease, StoreUnavailable
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.alerts.budget import MINUTE_S, Errand, plan
from monitor.alerts.channel import Channel, Delivery, Message, Result
from monitor.alerts.deliver import deliver
from monitor.alerts.policy import SENDER_LEASE, AlertPolicy
from monitor.alerts.ports import Letter, Outbox, Robot
from monitor.alerts.render import Renderer
from monitor.alerts.routing import Routing
from monitor.counts import MonitorCounts
from monitor.ports import AlertDesk

log = logging.getLogger(__name__)
LEASE_S = 20.0
CLAIM_S = 20.0
"""Longer than the slowest send: two posts of at most five seconds each."""
EVERY_S = 1.0
LEAST_REAL_S = 0.1
BACKOFF_S = (2.0, 8.0, 30.0)  # ALERTS.md: at most three retries
CONFIG_TRIES = 3
"""So often a letter is offered to a robot that refuses it: it may be the letter's own fault."""


class AlertSender:
    """`run` until cancelled."""

    def __init__(
        self,
        outbox: Outbox,
        desk: AlertDesk,
        lease: Lease,
        owner: str,
        channels: Sequence[Channel],
        routing: Routing,
        renderer: Renderer,
        client: httpx.AsyncClient,
        clock: Clock,
        policy: AlertPolicy | None = None,
        counts: MonitorCounts | None = None,
        noted: Callable[[Outbox], Awaitable[None]] | None = None,
    ) -> None:
        """`noted` writes down what was sent without the database, before the budgets are read."""
        self._outbox, self._desk, self._lease, self._owner = outbox, desk, lease, owner
        self._channels = {channel.name: channel for channel in channels}
        self._routing, self.renderer, self._client, self._clock = routing, renderer, client, clock
        self._policy = policy or AlertPolicy()
        self._counts, self._noted = counts or MonitorCounts(), noted
        self.sent = 0
        self.failed = 0

    async def run(self) -> None:
        while True:
            try:
                await self.once()
            except StoreUnavailable:
                log.warning("alerts wait: the store does not answer")
            except Exception:
                # One odd row must not silence every later alert.
                log.exception("alert sender: a round failed")
            # Under compressed time a second may shrink to nothing; the loop must not then eat the processor.
            await self._clock.sleep(max(EVERY_S, self._real(LEAST_REAL_S)))

    async def _may_send(self) -> bool:
        """Whether it is this process's turn. The lease only spares work: while it cannot be asked all go on, and each
        letter's claim still lets one alone send it."""
        try:
            return await self._lease.hold(SENDER_LEASE, self._owner, self._real(LEASE_S)) is not None
        except StoreUnavailable:
            return True

    def _real(self, seconds: float) -> float:
        """So long on the wall, in seconds of our clock: robots and sockets do not live in compressed time."""
        return seconds / self._clock.real_s(1.0)

    async def once(self) -> int:
        """Send what is due now; the number of messages sent. Raises StoreUnavailable."""
        if self._noted is not None:
            await self._noted(self._outbox)
        if not await self._may_send():
            return 0
        now_s, before = self._clock.now_s(), self.sent
        letters = await self._sendable(await self._outbox.due(now_s), now_s)
        if not letters:
            return 0
        minute_ago = now_s - self._real(MINUTE_S)
        robots = await self._outbox.robots()
        todo = plan(letters, await self._outbox.posts(minute_ago), robots, self._policy, now_s)
        for letter in todo.blocked:
            await self._blocked(letter, robots[letter.channel], now_s)
        for errand in todo.errands:
            # Held again before each message: a slow robot must not outlast the lease.
            if not await self._may_send():
                break
            await self._run_errand(errand)
        return self.sent - before

    async def _sendable(self, due: Sequence[Letter], now_s: float) -> list[Letter]:
        """Without those that are too old to help and those whose channel is not configured any more."""
        out = []
        for letter in due:
            if now_s - letter.created_at > self._policy.give_up_s:
                self.failed += 1
                await self._outbox.drop([letter.id], "expired", "nobody could tell it in time")
            elif letter.channel not in self._channels:
                if not await self._elsewhere(letter, now_s, "this channel is not configured any more"):
                    await self._outbox.drop([letter.id], "no_channel", "this channel is not configured any more")
            else:
                out.append(letter)
        return out

    async def _blocked(self, letter: Letter, robot: Robot, now_s: float) -> None:
        if await self._elsewhere(letter, now_s, robot.detail):
            return
        if robot.broken_at is not None and self._routing.backup(letter.channel) is not None:
            # When it is mended one day, nobody wants to read what the other channel told long ago.
            await self._outbox.drop([letter.id], "failed", f"told by another channel: {robot.detail}")
            return
        await self._outbox.wait([letter.id], max(robot.rest_until, robot.tried_at + self._policy.robot_retry_s))

    async def _elsewhere(self, letter: Letter, now_s: float, detail: str) -> bool:
        """Hand the letter to the channel that stands in; whether it went there."""
        backup = self._routing.backup(letter.channel) or next(
            (name for name in self._channels if letter.channel not in self._channels), None
        )
        return backup is not None and await self._outbox.hand_over(letter.id, backup, now_s, detail)

    async def _run_errand(self, errand: Errand) -> None:
        channel, now_s = self._channels[errand.channel], self._clock.now_s()
        until = now_s + self._real(CLAIM_S)
        mine = [one for one in errand.letters if await self._outbox.claim(one.id, self._owner, now_s, until)]
        if not mine:
            return
        if not (mine := await self._sayable(mine, channel)):
            return
        message = self._message(mine, channel)
        said = await deliver(self._client, channel, message, self._clock.real_s(now_s))
        self._counts.deliveries[channel.name, said.result.value] += 1
        await self._outbox.asked(channel.name, now_s, said.posts, said.result.value, said.detail, letter=mine[0].id)
        await self._settle(mine, channel, said, self._clock.now_s())

    async def _sayable(self, letters: Sequence[Letter], channel: Channel) -> list[Letter]:
        """Without those that cannot be said: they would head the queue for ever and silence those behind them."""
        out = []
        for letter in letters:
            try:
                self.renderer.message(letter.body, channel.language)
            except Exception as error:
                self.failed += 1
                log.exception("alert %s cannot be rendered", letter.alert_id)
                await self._outbox.drop([letter.id], "failed", f"cannot be rendered: {type(error).__name__}")
            else:
                out.append(letter)
        return out

    def _message(self, letters: Sequence[Letter], channel: Channel) -> Message:
        if len(letters) == 1:
            return self.renderer.message(letters[0].body, channel.language)
        return self.renderer.digest([letter.body for letter in letters], channel.language)

    async def _settle(self, letters: Sequence[Letter], channel: Channel, said: Delivery, now_s: float) -> None:
        ids = [letter.id for letter in letters]
        match said.result:
            case Result.OK:
                self.sent += 1
                await self._outbox.sent(ids, self._owner, now_s, "in a digest" if len(ids) > 1 else "")
                await self._works(channel.name, now_s)
            case Result.RATE:
                until = now_s + self._real(said.rest_s)
                await self._outbox.rest(channel.name, until, said.detail)
                await self._outbox.later(ids, self._owner, until, said.detail, failed=False)
                await self._all_elsewhere(letters, now_s, said.detail)
            case Result.RETRY if letters[0].tries < len(BACKOFF_S):
                due_at = now_s + self._real(BACKOFF_S[letters[0].tries])
                await self._outbox.later(ids, self._owner, due_at, said.detail, failed=True)
            case _:
                await self._refused(letters, channel, said, now_s)

    async def _refused(self, letters: Sequence[Letter], channel: Channel, said: Delivery, now_s: float) -> None:
        """The robot is broken: say so by another channel, and let that one tell the letters as well."""
        log.error("alert %s not delivered to %s: %s %s", letters[0].alert_id, channel.name, said.result, said.detail)
        news = await self._outbox.broken(channel.name, now_s, said.detail)
        due_at = now_s + self._policy.robot_retry_s
        await self._outbox.later([one.id for one in letters], self._owner, due_at, said.detail, failed=True)
        left = await self._all_elsewhere(letters, now_s, said.detail)
        given_up = [one.id for one in left if self._hopeless(one, channel, said)]
        if given_up:
            self.failed += len(given_up)
            await self._outbox.drop(given_up, "failed", f"{said.result}: {said.detail}")
        if news:
            await self._desk.fire(self.broken_alert(channel.name, now_s, said.detail))

    def _hopeless(self, letter: Letter, channel: Channel, said: Delivery) -> bool:
        """Another channel has a letter of its own, or the robot refused this one too often."""
        return self._routing.backup(channel.name) is not None or (
            said.result is Result.CONFIG and letter.tries + 1 >= CONFIG_TRIES
        )

    async def _all_elsewhere(self, letters: Sequence[Letter], now_s: float, detail: str) -> list[Letter]:
        """Those that stay here, because the other channel has them already or there is none."""
        return [one for one in letters if not await self._elsewhere(one, now_s, detail)]

    async def _works(self, channel: str, now_s: float) -> None:
        if await self._outbox.mended(channel):
            await self._desk.resolve(self.broken_alert(channel, now_s, ""))

    @staticmethod
    def broken_alert(channel: str, now_s: float, detail: str) -> Alert:
        """What is fired when a robot refuses us, and resolved when it takes a message again."""
        return Alert(
            kind=AlertKind.ROBOT_BROKEN,
            subject=channel,
            severity=Severity.WARN,
            at=now_s,
            facts={"channel": channel, "detail": detail},
        )

"""Sends what the outbox owes, one process of the fleet at a time.

Delivery is at least once: a message is marked sent after the robot said so, and its alert id shows a duplicate.
"""

import logging
from collections.abc import Sequence

import httpx

from base.clock import Clock
from breaker.ports import Lease, StoreUnavailable
from monitor.alerts.channel import Channel, Delivery, Result
from monitor.alerts.deliver import deliver
from monitor.alerts.render import Language, render
from monitor.ports import Outbox, Owed

log = logging.getLogger(__name__)
LEASE_NAME = "alert-sender"
LEASE_S = 15.0
EVERY_S = 1.0
BACKOFF_S = (2.0, 8.0, 30.0)  # ALERTS.md: at most three retries


class AlertSender:
    """`run` until cancelled. The lease outlasts the longest send, so that two senders never own one row."""

    def __init__(
        self,
        outbox: Outbox,
        lease: Lease,
        owner: str,
        channels: Sequence[Channel],
        client: httpx.AsyncClient,
        clock: Clock,
        language: Language = "zh",
    ) -> None:
        self._outbox, self._lease, self._owner = outbox, lease, owner
        self._channels = {channel.name: channel for channel in channels}
        self._client, self._clock, self._language = client, clock, language
        self._rests: dict[str, float] = {}
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
            await self._clock.sleep(EVERY_S)

    async def once(self) -> int:
        """Send what is due now; the number of messages sent. Raises StoreUnavailable."""
        if await self._lease.hold(LEASE_NAME, self._owner, LEASE_S) is None:
            return 0
        before = self.sent
        for row in await self._outbox.pending(self._clock.now_s()):
            # Held again before each message: a slow robot must not outlast the lease.
            if await self._lease.hold(LEASE_NAME, self._owner, LEASE_S) is None:
                break
            await self._tell(row)
        return self.sent - before

    async def _tell(self, row: Owed) -> None:
        now_s = self._clock.now_s()
        channel = self._channels.get(row.channel)
        if channel is None:
            await self._outbox.mark(row.id, "no_channel", detail="this channel is not configured any more")
            return
        if now_s < self._rests.get(channel.name, 0.0):
            return
        try:
            message = render(row.kind, row.body, row.alert_id, self._language)
        except (KeyError, TypeError, ValueError) as error:
            # A row that cannot be said would head the queue for ever and silence the rows behind it.
            self.failed += 1
            log.exception("alert %s cannot be rendered", row.alert_id)
            await self._outbox.mark(row.id, "failed", detail=f"cannot be rendered: {type(error).__name__}")
            return
        told = await deliver(self._client, channel, message, now_s)
        await self._mark(row, channel, told, self._clock.now_s())

    async def _mark(self, row: Owed, channel: Channel, told: Delivery, now_s: float) -> None:
        match told.result:
            case Result.OK:
                self.sent += 1
                await self._outbox.mark(row.id, "sent", at=now_s)
            case Result.RATE:
                self._rests[channel.name] = now_s + told.rest_s
                await self._outbox.mark(row.id, "pending", due_at=now_s + told.rest_s, detail=told.detail)
            case Result.RETRY if row.tries < len(BACKOFF_S):
                await self._outbox.mark(row.id, "pending", due_at=now_s + BACKOFF_S[row.tries], detail=told.detail)
            case _:
                self.failed += 1
                log.error("alert %s not delivered to %s: %s %s", row.alert_id, channel.name, told.result, told.detail)
                await self._outbox.mark(row.id, "failed", detail=f"{told.result}: {told.detail}")

"""Everything that tells, over one database and the local robots, on a clock that moves only when told to."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.policy import BreakerPolicy
from breaker.ports import Lease
from monitor.alerts.channel import Channel, ChannelKind
from monitor.alerts.notify import Notifier
from monitor.alerts.policy import AlertPolicy
from monitor.alerts.render import Renderer
from monitor.alerts.routing import Routing, Rule
from monitor.alerts.sender import AlertSender
from monitor.alerts.templates import Templates
from store.memory import MemoryLease
from store.sql_incidents import SqlAlertDesk
from store.sql_notices import SqlDossiers, SqlNotices
from store.sql_outbox import SqlOutbox
from tests.support.clock import ManualClock
from tests.support.robots import Robots


@dataclass
class Teller:
    """One monitor process's share of it."""

    notifier: Notifier
    sender: AlertSender

    async def round(self) -> int:
        """Decide and send once; the messages sent."""
        await self.notifier.once()
        return await self.sender.once()


@dataclass
class Newsroom:
    engine: AsyncEngine
    clock: ManualClock
    robots: Robots
    client: httpx.AsyncClient
    channels: Sequence[Channel]
    desk: SqlAlertDesk
    outbox: SqlOutbox
    notices: SqlNotices
    rules: Sequence[Rule] = ()
    policy: AlertPolicy = field(default_factory=AlertPolicy)

    def teller(self, owner: str = "one", lease: Lease | None = None, outbox: Any = None) -> Teller:
        lease = lease or MemoryLease(self.clock)
        routing = Routing([one.name for one in self.channels], self.rules)
        renderer = Renderer(
            Templates(),
            self.clock,
            BreakerPolicy().model_dump(),
            link_base="http://console",
            ack_link=lambda id: f"/ack/{id}",
        )
        return Teller(
            Notifier(
                self.notices, lease, owner, routing, self.clock, self.policy, dossiers=SqlDossiers(self.engine)
            ),
            AlertSender(
                outbox or self.outbox, self.desk, lease, owner, self.channels, routing, renderer, self.client, self.clock,
                self.policy,
            ),
        )  # fmt: skip

    async def pass_by(self, seconds: float, teller: Teller, every: float = 5.0) -> int:
        """Let time pass in steps, each with a round; the messages sent."""
        sent, until = 0, self.clock.now_s() + seconds
        while self.clock.now_s() < until:
            await self.clock.advance(min(every, until - self.clock.now_s()))
            sent += await teller.round()
        return sent


@asynccontextmanager
async def newsroom(
    engine: AsyncEngine, *kinds: ChannelKind, rules: Sequence[Rule] = (), now_s: float = 1_700_000_000.0
) -> AsyncIterator[Newsroom]:
    """Channels named by their kind, in that order."""
    clock = ManualClock(now_s)
    async with Robots(now_s=clock.now_s) as robots, httpx.AsyncClient() as client:
        channels = [
            Channel(name=kind, kind=kind, url=robots.url(kind), users=("zhang",), language="en") for kind in kinds
        ]
        yield Newsroom(
            engine=engine,
            clock=clock,
            robots=robots,
            client=client,
            channels=channels,
            desk=SqlAlertDesk(engine),
            outbox=SqlOutbox(engine),
            notices=SqlNotices(engine),
            rules=rules,
        )

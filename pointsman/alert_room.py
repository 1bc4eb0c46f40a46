"""The console's port over alerts: what the store keeps, with what mutes it now, and a test of each robot."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from starlette.routing import Route

from base.clock import Clock
from console.ack_page import ack_routes, runbook_routes
from console.alerts_ports import (
    AlertRoom,
    ChannelRow,
    DeliveryRow,
    EventRow,
    IncidentRow,
    Said,
    SilenceAsked,
    SilenceRow,
)
from console.fleet_ports import Audit
from monitor.alerts.alert import AlertKind
from monitor.alerts.budget import MINUTE_S, NO_ROBOT
from monitor.alerts.channel import Channel, Result
from monitor.alerts.deliver import deliver
from monitor.alerts.mute import Muted, Silence, Window, muted
from monitor.alerts.routing import Routing
from monitor.alerts.sender import AlertSender
from monitor.alerts.trial import trial_body
from monitor.ports import AlertDesk
from pointsman.assemble import Service
from pointsman.runbooks import runbook
from pointsman.telling import Telling
from router.topology import Topology
from store.sql_alert_room import SqlAlertRoom, incident_row, silence_row
from store.sql_notices import SqlNotices
from store.sql_outbox import SqlOutbox


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAlertRoom:
    """One per process. `telling`: what sends, whose robots are tested."""

    store: SqlAlertRoom
    notices: SqlNotices
    outbox: SqlOutbox
    desk: AlertDesk
    telling: Telling
    configured: Sequence[Channel]
    routing: Routing
    windows: Sequence[Window]
    clock: Clock
    topology: Callable[[], Topology] | None = None
    """By which models and scenes are known; None: nobody can tell."""

    def known(self, field: str) -> Sequence[str] | None:
        if field == "kind":
            return self.kinds()
        if self.topology is None:
            return None
        here = self.topology()
        names = {"model": list(here.models), "scene": [route.scene for route in here.routes.values()]}
        return names.get(field)

    def kinds(self) -> Sequence[str]:
        return [kind.value for kind in AlertKind]

    def channel_names(self) -> Sequence[str]:
        return [channel.name for channel in self.configured]

    async def incidents(
        self,
        *,
        open: bool | None = None,
        model: str = "",
        kind: str = "",
        before: float | None = None,
        limit: int = 100,
    ) -> Sequence[IncidentRow]:
        found = await self.store.incidents(open=open, model=model, kind=kind, before=before, limit=limit)
        mutes = await self._mutes() if any(one.firing for one in found) else {}
        heard = await self.store.heard_of([one.id for one in found if one.announced])
        return [incident_row(one, mutes.get(one.id), heard=one.id in heard) for one in found]

    async def incident(self, id: int) -> IncidentRow | None:
        found = await self.store.incident(id)
        if found is None:
            return None
        return incident_row(found, (await self._mutes()).get(id), heard=id in await self.store.heard_of([id]))

    async def _mutes(self) -> Mapping[int, Muted]:
        now_s = self.clock.now_s()
        silences = await self.notices.silences(now_s)
        return muted(await self.notices.waiting(), silences, self.windows, self.clock.real_s(now_s))

    async def events(self, id: int) -> Sequence[EventRow]:
        return await self.store.events(id)

    async def deliveries(
        self, *, incident: int | None = None, state: str = "", channel: str = "", limit: int = 100
    ) -> Sequence[DeliveryRow]:
        return await self.store.deliveries(incident=incident, state=state, channel=channel, limit=limit)

    async def ack(self, id: int, actor: str, text: str) -> bool:
        return await self.store.ack(id, actor, text, self.clock.now_s())

    async def unack(self, id: int, actor: str, text: str) -> bool:
        return await self.store.unack(id, actor, text, self.clock.now_s())

    async def note(self, id: int, actor: str, text: str) -> bool:
        return await self.store.note(id, actor, text, self.clock.now_s())

    async def close(self, id: int, actor: str, text: str) -> bool:
        return await self.store.close(id, actor, text, self.clock.now_s())

    async def silences(self, *, past: bool = False) -> Sequence[SilenceRow]:
        return await self.store.silences(self.clock.now_s(), past=past)

    async def silence(self, asked: SilenceAsked) -> SilenceRow:
        now_s = self.clock.now_s()
        start = now_s if asked.starts_at is None else max(now_s, asked.starts_at)
        made = Silence(
            kind=asked.kind,
            model=asked.model,
            subject=asked.subject,
            scene=asked.scene,
            author=asked.author,
            reason=asked.reason,
            starts_at=start,
            ends_at=start + asked.minutes * 60,
            created_at=now_s,
        )
        return silence_row(replace(made, id=await self.store.silence(made)), now_s)

    async def unsilence(self, id: int, actor: str) -> bool:
        return await self.store.unsilence(id, actor, self.clock.now_s())

    async def channels(self) -> Sequence[ChannelRow]:
        now_s = self.clock.now_s()
        robots, posts = await self.outbox.robots(), await self.outbox.posts(now_s - MINUTE_S)
        waiting = await self.store.waiting_letters()
        rows = []
        for channel in self.configured:
            robot = robots.get(channel.name, NO_ROBOT)
            state = "broken" if robot.broken_at is not None else "resting" if now_s < robot.rest_until else "ok"
            rows.append(
                ChannelRow(
                    name=channel.name,
                    kind=channel.kind,
                    language=channel.language,
                    backup=self.routing.backup(channel.name) or "",
                    state=state,
                    detail=robot.detail if state != "ok" else "",
                    since=robot.broken_at,
                    posts_last_minute=posts.get(channel.name, 0),
                    waiting=waiting.get(channel.name, 0),
                )
            )
        return rows

    async def test(self, channel: str, actor: str) -> Said:
        robot = next((one for one in self.configured if one.name == channel), None)
        if robot is None:
            raise KeyError(channel)
        now_s, began_s = self.clock.now_s(), self.clock.monotonic_s()
        message = self.telling.renderer.message(trial_body(channel, actor, now_s), robot.language)
        said = await deliver(self.telling.client, robot, message, self.clock.real_s(now_s))
        await self.outbox.asked(channel, now_s, said.posts, said.result.value, said.detail)
        if said.result is Result.OK and await self.outbox.mended(channel):
            await self.desk.resolve(AlertSender.broken_alert(channel, self.clock.now_s(), ""))
        # A key that is refused now is refused for alerts too: nobody should have to lose one to learn it.
        if said.result is Result.CONFIG and await self.outbox.broken(channel, now_s, said.detail):
            await self.desk.fire(AlertSender.broken_alert(channel, now_s, said.detail))
        took_s = self.clock.real_s(self.clock.monotonic_s() - began_s)
        return Said(result=said.result.value, detail=said.detail, took_s=round(took_s, 3))


def alert_room_of(service: Service, telling: Telling) -> ServiceAlertRoom:
    """The room of this process."""
    alerts, engine = service.settings.alerts, service.engine
    deps = service.deps
    zone = service.settings.monitor.timezone
    return ServiceAlertRoom(
        store=SqlAlertRoom(engine),
        notices=SqlNotices(engine),
        outbox=SqlOutbox(engine),
        desk=service.desk,
        telling=telling,
        configured=alerts.all_channels(),
        routing=alerts.routing(),
        windows=tuple(window.window(zone) for window in alerts.maintenance),
        clock=service.clock,
        topology=lambda: deps.topology,
    )


def open_pages(room: AlertRoom, audit: Audit, telling: Telling) -> Sequence[Route]:
    """Pages that a link in a message opens without a login."""
    return [*ack_routes(room, audit, telling.incident_of), *runbook_routes(runbook)]


_room: type[AlertRoom] = ServiceAlertRoom

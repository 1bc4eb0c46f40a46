"""Alerts as people read and handle them: incidents, timelines, letters, silences, the robots' states. All in SQL."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from console.alerts_ports import DeliveryRow, EventRow, IncidentRow, SilenceRow
from monitor.alerts.alert import Alert
from monitor.alerts.incident import Event, Incident, resolved
from monitor.alerts.mute import Muted, Silence
from store.documents import from_row
from store.sql_incidents import file_alert
from store.sql_link import answered
from store.tables import alert_outbox, incident, incident_event, silence


class SqlAlertRoom:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def incidents(
        self, *, open: bool | None, model: str, kind: str, before: float | None, limit: int
    ) -> Sequence[Incident]:
        query = select(incident).order_by(incident.c.opened_at.desc(), incident.c.id.desc()).limit(limit)
        if open is not None:
            query = query.where(incident.c.resolved_at.is_(None) if open else incident.c.resolved_at.is_not(None))
        for column, value in ((incident.c.model, model), (incident.c.kind, kind)):
            query = query.where(column == value) if value else query
        query = query.where(incident.c.opened_at < before) if before is not None else query
        return [from_row(Incident, row) for row in await self._rows(query)]

    async def incident(self, id: int) -> Incident | None:
        rows = await self._rows(select(incident).where(incident.c.id == id))
        return from_row(Incident, rows[0]) if rows else None

    async def events(self, id: int) -> Sequence[EventRow]:
        query = select(incident_event).where(incident_event.c.incident_id == id).order_by(incident_event.c.id)
        return [from_row(EventRow, row) for row in await self._rows(query)]

    async def heard_of(self, ids: Sequence[int]) -> frozenset[int]:
        """Of which of the incidents a message was filed to a channel: where none is set up, nobody is told."""
        told = (incident_event.c.event == Event.TOLD.value) & incident_event.c.incident_id.in_(ids)
        rows = await self._rows(select(incident_event.c.incident_id).where(told).distinct()) if ids else ()
        return frozenset(row["incident_id"] for row in rows)

    async def deliveries(self, *, incident: int | None, state: str, channel: str, limit: int) -> Sequence[DeliveryRow]:
        query = select(alert_outbox).order_by(alert_outbox.c.id.desc()).limit(limit)
        if incident is not None:
            facts = [event.facts for event in await self.events(incident) if event.event == Event.TOLD.value]
            query = query.where(alert_outbox.c.alert_id.in_([str(fact.get("notice", "")) for fact in facts]))
        for column, value in ((alert_outbox.c.state, state), (alert_outbox.c.channel, channel)):
            query = query.where(column == value) if value else query
        rows = await self._rows(query)
        return [
            from_row(DeliveryRow, {**row, "notice": row["alert_id"], "why": str(row["body"].get("why", ""))})
            for row in rows
        ]

    async def ack(self, id: int, actor: str, text: str, now_s: float) -> bool:
        change = {"acked_at": now_s, "acked_by": actor}
        return await self._changed(id, change, Event.ACKED, actor, text, now_s)

    async def unack(self, id: int, actor: str, text: str, now_s: float) -> bool:
        return await self._changed(id, {"acked_at": None, "acked_by": ""}, Event.UNACKED, actor, text, now_s)

    async def note(self, id: int, actor: str, text: str, now_s: float) -> bool:
        if await self.incident(id) is None:
            return False
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await _noted(connection, id, Event.NOTED, actor, text, now_s)
        return True

    async def close(self, id: int, actor: str, text: str, now_s: float) -> bool:
        here = await self.incident(id)
        if here is None or not here.firing:
            return False
        end = Alert(
            kind=here.kind,
            subject=here.subject,
            model=here.model,
            scene=here.scene,
            severity=here.severity,
            at=max(now_s, here.updated_at),
            facts={"closed_by": actor},
        )
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await file_alert(connection, self._engine, end, resolved)
                await _noted(connection, id, Event.NOTED, actor, text, now_s)
        return True

    async def _changed(
        self, id: int, values: Mapping[str, Any], event: Event, actor: str, text: str, now_s: float
    ) -> bool:
        change = update(incident).where(incident.c.id == id, incident.c.resolved_at.is_(None)).values(values)
        with answered(self._engine):
            async with self._engine.begin() as connection:
                if (await connection.execute(change)).rowcount == 0:
                    return False
                await _noted(connection, id, event, actor, text, now_s)
        return True

    async def silences(self, now_s: float, *, past: bool) -> Sequence[SilenceRow]:
        query = select(silence).order_by(silence.c.ends_at.desc(), silence.c.id.desc()).limit(500)
        if not past:
            query = query.where(silence.c.ends_at > now_s, silence.c.ended_at.is_(None))
        return [silence_row(from_row(Silence, row), now_s) for row in await self._rows(query)]

    async def silence(self, made: Silence) -> int:
        values = {name: getattr(made, name) for name in Silence.__dataclass_fields__ if name != "id"}
        with answered(self._engine):
            async with self._engine.begin() as connection:
                added = await connection.execute(insert(silence).returning(silence.c.id), values)
                return int(added.scalar_one())

    async def unsilence(self, id: int, actor: str, now_s: float) -> bool:
        change = update(silence).where(silence.c.id == id, silence.c.ends_at > now_s, silence.c.ended_at.is_(None))
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(change.values(ended_at=now_s, ended_by=actor))).rowcount > 0

    async def waiting_letters(self) -> Mapping[str, int]:
        """How many letters each channel still owes."""
        owed = alert_outbox.c.state.in_(("pending", "sending"))
        query = select(alert_outbox.c.channel, func.count().label("count")).where(owed).group_by(alert_outbox.c.channel)
        return {row["channel"]: int(row["count"]) for row in await self._rows(query)}

    async def _rows(self, query: Any) -> Sequence[Mapping[Any, Any]]:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                return (await connection.execute(query)).mappings().all()


async def _noted(connection: AsyncConnection, id: int, event: Event, actor: str, text: str, now_s: float) -> None:
    values: dict[str, Any] = {
        "incident_id": id,
        "at": now_s,
        "event": event.value,
        "actor": actor,
        "text": text,
        "facts": {},
    }
    await connection.execute(insert(incident_event), values)


def incident_row(here: Incident, muted: Muted | None, *, heard: bool) -> IncidentRow:
    """As people see it: resolved before acked before silenced before firing. `heard`: a message of it was filed to a channel."""
    state = "firing"
    if not here.firing:
        state = "resolved"
    elif here.acked_at is not None:
        state = "acked"
    elif muted in (Muted.SILENCED, Muted.MAINTENANCE):
        state = "silenced"
    shared = {name: getattr(here, name) for name in IncidentRow.__dataclass_fields__ if hasattr(here, name)}
    known = {"announced": heard, "nobody_to_tell": here.announced and not heard}
    return IncidentRow(**{**shared, **known, "state": state, "muted": muted.value if muted and here.firing else ""})


def silence_row(here: Silence, now_s: float) -> SilenceRow:
    state = "active" if here.active(now_s) else "coming" if now_s < here.starts_at and here.ended_at is None else "over"
    shared = {name: getattr(here, name) for name in SilenceRow.__dataclass_fields__ if name != "state"}
    return SilenceRow(state=state, **shared)

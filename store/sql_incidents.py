"""Incidents in SQL: one per condition while it is open, whoever fires it and however often.

A change is written only over the revision it was made from; who comes second reads again. The incident's row is the
outbox of what is to be told: it is written in the same transaction as the move of the breaker that caused it, and it
says itself which of its revisions people know (`told_revision`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Select, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from breaker.ports import StoreUnavailable
from breaker.snapshot import Transition
from monitor.alerts.alert import Alert
from monitor.alerts.incident import Change, Event, Incident, fired, resolved
from monitor.alerts.moves import alert_of, is_over
from monitor.ports import AlertDesk
from store.documents import from_row, plain
from store.sql_link import answered, insert_new
from store.tables import incident, incident_event, transition

TRIES = 8
"""Replicas that report one condition at the same moment; each retry reads what another has just written."""

Rule = Callable[[Incident | None, Alert], Change | None]


class SqlAlertDesk:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def fire(self, alert: Alert) -> None:
        if alert.moment:
            # What has ended is no condition any more: a gray release that was paused and is rolled back now.
            await self._file(replace(alert, moment=False), resolved)
        await self._file(alert, fired)

    async def resolve(self, alert: Alert) -> None:
        await self._file(alert, resolved)

    async def _file(self, alert: Alert, rule: Rule) -> None:
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await file_alert(connection, self._engine, alert, rule)


async def file_move(connection: AsyncConnection, engine: AsyncEngine, move: Transition) -> None:
    """Let the model's incident follow a move that was just added to the log, in the same transaction.

    Moves may be filed late and out of order (a replica fills the gaps of another that died). Only the newest says where
    the model stands; an earlier one becomes a line in the timeline of the incident it belongs to.
    """
    alert = alert_of(move)
    later = select(transition.c.epoch).where(transition.c.model == move.model, transition.c.epoch > move.epoch).limit(1)
    if (await connection.execute(later)).first() is not None:
        here = await _open(connection, alert)
        if here is not None and here.opened_at <= move.at:
            await _note(connection, here.id, Event.LATE, alert)
        return
    await file_alert(connection, engine, alert, resolved if is_over(move) else fired)


async def file_alert(connection: AsyncConnection, engine: AsyncEngine, alert: Alert, rule: Rule) -> None:
    """Apply `rule` to the open incident of the alert's key and write what it says."""
    for _ in range(TRIES):
        here = await _open(connection, alert)
        if here is None and await _is_old(connection, alert):
            return
        change = rule(here, alert)
        if change is None:
            return
        if await _written(connection, engine, here, change, alert):
            return
    raise StoreUnavailable(f"sql: {TRIES} others wrote {alert.key} first")


async def _open(connection: AsyncConnection, alert: Alert) -> Incident | None:
    query: Select[Any] = select(incident).where(incident.c.open_key == alert.key)
    if alert.passes:
        query = select(incident).where(incident.c.open_key == f"{alert.key}@{alert.at:.3f}")
    row = (await connection.execute(query)).mappings().first()
    return from_row(Incident, row) if row is not None else None


async def _is_old(connection: AsyncConnection, alert: Alert) -> bool:
    """Whether the key was resolved after this alert's moment: a report that was handed in again, too late."""
    if alert.passes:
        return False
    later = select(incident.c.id).where(incident.c.key == alert.key, incident.c.resolved_at >= alert.at).limit(1)
    return (await connection.execute(later)).first() is not None


async def _written(
    connection: AsyncConnection, engine: AsyncEngine, here: Incident | None, change: Change, alert: Alert
) -> bool:
    """False: another was first."""
    values = row_of(change.incident)
    if here is None:
        added = await connection.execute(insert_new(engine, incident).returning(incident.c.id), values)
        row = added.first()
        if row is None:
            return False
        await _note(connection, int(row[0]), change.event, alert)
        return True
    same = (incident.c.id == here.id, incident.c.revision == here.revision)
    # Only what the finding changes: what people were told is written by another, meanwhile.
    was = row_of(here)
    changes = {name: value for name, value in values.items() if value != was[name]}
    if (await connection.execute(update(incident).where(*same).values(changes))).rowcount == 0:
        return False
    if change.event is not Event.REFRESHED:
        await _note(connection, here.id, change.event, alert)
    return True


def row_of(here: Incident) -> Mapping[str, Any]:
    """The columns of an incident but its id."""
    values = plain(here)
    values.pop("id")
    return {**values, "open_key": here.open_key}


async def _note(connection: AsyncConnection, id: int, event: Event, alert: Alert) -> None:
    values = {
        "incident_id": id,
        "at": alert.at,
        "event": event.value,
        "actor": "",
        "text": "",
        "facts": plain(alert.facts),
    }
    await connection.execute(insert(incident_event), values)


_desk: type[AlertDesk] = SqlAlertDesk

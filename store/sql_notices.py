"""What people were told, in SQL: one transaction files the letters, counts the group on and marks every member.

Two processes that decide at once file one notice: the second finds the group's number moved on.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import case, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from monitor.alerts.alert import Severity
from monitor.alerts.decide import Group, Notice, told
from monitor.alerts.incident import Event, Incident
from monitor.alerts.mute import Silence
from monitor.alerts.ports import Dossier, Dossiers, NoticeBook
from store.documents import from_row
from store.sql_link import answered, insert_new
from store.tables import alert_group, alert_outbox, failed_reply, incident, incident_event, silence

PENDING = "pending"
MOST = 1_000
"""Incidents looked at in one round: the gravest first, then those whose newest revision nobody knows, then the oldest. What
was told long ago and is taken must not stand before what is new."""
SAMPLE_CHARS = 160
DOSSIER_ROWS = 500


class SqlNotices:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def waiting(self) -> Sequence[Incident]:
        grave = case((incident.c.severity == Severity.CRITICAL.value, 0), else_=1)
        known = case((incident.c.told_revision < incident.c.revision, 0), else_=1)
        query = select(incident).where(incident.c.settled.is_(False)).order_by(grave, known, incident.c.id).limit(MOST)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return sorted((from_row(Incident, row) for row in rows), key=lambda one: one.id)

    async def groups(self) -> Mapping[str, Group]:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(select(alert_group))).mappings().all()
        return {row["key"]: from_row(Group, row) for row in rows}

    async def silences(self, now_s: float) -> Sequence[Silence]:
        query = select(silence).where(silence.c.ends_at > now_s, silence.c.ended_at.is_(None))
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(Silence, row) for row in rows]

    async def file(self, notice: Notice, channels: Sequence[str], body: Mapping[str, Any]) -> bool:
        with answered(self._engine):
            async with self._engine.begin() as connection:
                if not await self._counted_on(connection, notice):
                    return False
                letters = [_letter(notice, channel, body) for channel in channels]
                if letters:
                    await connection.execute(insert_new(self._engine, alert_outbox), letters)
                for one in (*notice.firing, *notice.over):
                    await _mark(connection, one, notice, channels)
        return True

    async def _counted_on(self, connection: AsyncConnection, notice: Notice) -> bool:
        group, next_ = notice.group, {"seq": notice.group.seq + 1, "last_at": notice.at}
        if group.seq == 0:
            added = insert_new(self._engine, alert_group).returning(alert_group.c.key)
            return (await connection.execute(added, {"key": group.key, **next_})).first() is not None
        same = (alert_group.c.key == group.key, alert_group.c.seq == group.seq)
        return (await connection.execute(update(alert_group).where(*same).values(next_))).rowcount > 0

    async def settle(self, quiet: Sequence[Incident]) -> None:
        if not quiet:
            return
        change = update(incident).where(incident.c.id.in_([one.id for one in quiet]), incident.c.told_revision == 0)
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await connection.execute(change.values(settled=True))


def _letter(notice: Notice, channel: str, body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "alert_id": notice.id,
        "channel": channel,
        "model": notice.lead.model,
        "kind": notice.lead.kind.value,
        "body": body,
        "state": PENDING,
        "severity": notice.severity.value,
        "created_at": notice.at,
        "due_at": notice.at,
    }


async def _mark(connection: AsyncConnection, one: Incident, notice: Notice, channels: Sequence[str]) -> None:
    """Only the columns of what was told are written: findings go on changing the others meanwhile."""
    known = told(one, notice.at)
    values = {
        "told_revision": known.told_revision,
        "told_at": known.told_at,
        "told_stage": known.told_stage,
        "told_severity": known.told_severity,
        "escalation": known.escalation,
        "escalated_at": known.escalated_at,
        "settled": known.settled,
    }
    await connection.execute(update(incident).where(incident.c.id == one.id).values(values))
    event = {
        "incident_id": one.id,
        "at": notice.at,
        "event": (Event.TOLD if channels else Event.NOBODY_TOLD).value,
        "actor": "",
        "text": notice.why.value if channels else "",
        "facts": {"notice": notice.id, "channels": list(channels), "step": known.escalation},
    }
    await connection.execute(insert(incident_event), event)


class SqlDossiers:
    """What the kept excerpts of failed replies say of a model. Raises StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def about(self, model: str, since: float, until: float) -> Dossier:
        query = (
            select(failed_reply.c.loop_class, failed_reply.c.scene, failed_reply.c.excerpt)
            .where(failed_reply.c.model == model, failed_reply.c.at.between(since, until))
            .order_by(failed_reply.c.at.desc())
            .limit(DOSSIER_ROWS)
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).all()
        classes, scenes = _counted([r.loop_class for r in rows]), _counted([r.scene for r in rows])
        top = next(iter(classes), "")
        samples = [r.excerpt for r in rows if r.excerpt and r.loop_class == top] or [
            r.excerpt for r in rows if r.excerpt
        ]
        sample = " ".join(samples[0].split()) if samples else ""
        return Dossier(classes=classes, scenes=scenes, sample=sample[:SAMPLE_CHARS])


def _counted(words: Sequence[str]) -> dict[str, int]:
    """How often each word comes, the most frequent first; empty ones are not counted."""
    counts: dict[str, int] = {}
    for word in words:
        if word:
            counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


_book: type[NoticeBook] = SqlNotices
_dossiers: type[Dossiers] = SqlDossiers

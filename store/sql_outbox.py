"""Letters owed to the channels, the tries to send them, and what the fleet knows of each robot.

A letter is sent by whoever claimed it: two senders that both believe to own the outbox send it once. The claim of one
that died ends by itself, and the letter goes out again: delivery is at least once, and its alert id shows a duplicate.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import case, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.alerts.alert import Severity
from monitor.alerts.ports import Letter, Outbox, Robot
from store.documents import from_row
from store.sql_link import answered, insert_new
from store.tables import alert_outbox, alert_robot, alert_try

PENDING, SENDING, SENT, MOVED = "pending", "sending", "sent", "moved"
ENDED = (SENT, MOVED, "failed", "expired", "no_channel")


class SqlOutbox:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def due(self, now_s: float, limit: int = 200) -> Sequence[Letter]:
        query = (
            select(*(alert_outbox.c[name] for name in Letter.__dataclass_fields__))
            .where(_free(now_s), alert_outbox.c.due_at <= now_s)
            .order_by(case((alert_outbox.c.severity == Severity.CRITICAL.value, 0), else_=1), alert_outbox.c.id)
            .limit(limit)
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(Letter, row) for row in rows]

    async def claim(self, id: int, owner: str, now_s: float, until: float) -> bool:
        change = update(alert_outbox).where(alert_outbox.c.id == id, _free(now_s))
        return await self._changed(change.values(state=SENDING, owner=owner, claimed_until=until))

    async def asked(
        self, channel: str, at: float, posts: int, result: str, detail: str, *, letter: int = 0
    ) -> None:  # fmt: skip
        values = {"letter_id": letter, "channel": channel, "at": at, "posts": posts, "result": result}
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await connection.execute(insert(alert_try), {**values, "detail": detail})

    async def posts(self, since: float) -> Mapping[str, int]:
        query = select(alert_try.c.channel, func.sum(alert_try.c.posts)).where(alert_try.c.at > since)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query.group_by(alert_try.c.channel))).all()
        return {str(channel): int(count) for channel, count in rows}

    async def sent(self, ids: Sequence[int], owner: str, at: float, detail: str = "") -> None:
        await self._changed(_mine(ids, owner).values(state=SENT, sent_at=at, detail=detail))

    async def later(self, ids: Sequence[int], owner: str, due_at: float, detail: str, *, failed: bool) -> None:
        tries = alert_outbox.c.tries + (1 if failed else 0)
        values = {
            "state": PENDING,
            "due_at": due_at,
            "detail": detail,
            "tries": tries,
            "owner": "",
            "claimed_until": 0.0,
        }
        await self._changed(_mine(ids, owner).values(values))

    async def wait(self, ids: Sequence[int], until: float) -> None:
        change = update(alert_outbox).where(alert_outbox.c.id.in_(ids), alert_outbox.c.state == PENDING)
        await self._changed(change.values(due_at=until))

    async def drop(self, ids: Sequence[int], state: str, detail: str) -> None:
        change = update(alert_outbox).where(alert_outbox.c.id.in_(ids), alert_outbox.c.state.not_in(ENDED))
        await self._changed(change.values(state=state, detail=detail))

    async def hand_over(self, id: int, channel: str, now_s: float, detail: str) -> bool:
        with answered(self._engine):
            async with self._engine.begin() as connection:
                here = select(alert_outbox).where(alert_outbox.c.id == id, _free(now_s))
                row = (await connection.execute(here)).mappings().first()
                if row is None:
                    return False
                new = {name: row[name] for name in ("alert_id", "model", "kind", "body", "severity", "created_at")}
                new |= {"channel": channel, "state": PENDING, "due_at": now_s}
                added = insert_new(self._engine, alert_outbox).returning(alert_outbox.c.id)
                if (await connection.execute(added, new)).first() is None:
                    return False
                moved = update(alert_outbox).where(alert_outbox.c.id == id).values(state=MOVED, detail=detail)
                await connection.execute(moved)
        return True

    async def robots(self) -> Mapping[str, Robot]:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(select(alert_robot))).mappings().all()
        return {row["channel"]: from_row(Robot, row) for row in rows}

    async def rest(self, channel: str, until: float, detail: str) -> None:
        await self._robot(channel, {"rest_until": until, "detail": detail})

    async def broken(self, channel: str, at: float, detail: str) -> bool:
        known = (await self.robots()).get(channel)
        news = known is None or known.broken_at is None
        since = {"broken_at": at} if news else {}
        await self._robot(channel, {"tried_at": at, "detail": detail, **since})
        return news

    async def mended(self, channel: str) -> bool:
        change = update(alert_robot).where(alert_robot.c.channel == channel, alert_robot.c.broken_at.is_not(None))
        return await self._changed(change.values(broken_at=None, detail="", rest_until=0.0))

    async def tally(self, since: float) -> tuple[int, int]:
        """How many letters filed since then were sent, and how many failed for good."""
        query = (
            select(alert_outbox.c.state, func.count())
            .where(alert_outbox.c.created_at >= since)
            .group_by(alert_outbox.c.state)
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                counts = {str(state): int(count) for state, count in (await connection.execute(query)).all()}
        return counts.get(SENT, 0), counts.get("failed", 0) + counts.get("expired", 0)

    async def _robot(self, channel: str, values: dict[str, Any]) -> None:
        new = {"channel": channel, "rest_until": 0.0, "tried_at": 0.0, "detail": "", **values}
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await connection.execute(insert_new(self._engine, alert_robot), new)
                await connection.execute(update(alert_robot).where(alert_robot.c.channel == channel).values(values))

    async def _changed(self, statement: Any) -> bool:
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return bool((await connection.execute(statement)).rowcount)


def _free(now_s: float) -> Any:
    """Nobody is sending it: never claimed, or by one whose claim has ended."""
    gone = (alert_outbox.c.state == SENDING) & (alert_outbox.c.claimed_until <= now_s)
    return or_(alert_outbox.c.state == PENDING, gone)


def _mine(ids: Sequence[int], owner: str) -> Any:
    return update(alert_outbox).where(
        alert_outbox.c.id.in_(ids), alert_outbox.c.state == SENDING, alert_outbox.c.owner == owner
    )


_outbox: type[Outbox] = SqlOutbox

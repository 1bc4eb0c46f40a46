"""The call log as the console reads it: searched by many fields, and marked by people.

Posture when SQL is gone: StoreUnavailable; the page says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Select, or_, select, update
from sqlalchemy.engine import RowMapping
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.window import COUNT_NAMES, Counts
from console.record_ports import Asked, Failed, Hour, HourBook, Records, Sought, Try
from console.shown import ERROR
from store.sql_link import answered
from store.tables import call, failed_reply, hour_count

FIELDS = ("app", "route", "scene", "session")


class SqlRecords:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def requests(self, sought: Sought, limit: int) -> Sequence[Asked]:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(_search(sought).limit(limit))).mappings().all()
        return [_asked(row) for row in rows]

    async def failed(
        self, *, request_id: str = "", model: str = "", fingerprint: str = "", limit: int = 50
    ) -> Sequence[Failed]:
        columns = failed_reply.c
        query = select(failed_reply).order_by(columns.at.desc(), columns.id).limit(limit)
        for column, wanted in (
            (columns.request_id, request_id),
            (columns.model, model),
            (columns.fingerprint, fingerprint),
        ):
            if wanted:
                query = query.where(column == wanted)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [_failed(row) for row in rows]

    async def mark(self, failed_id: str, word: str) -> bool:
        change = update(failed_reply).where(failed_reply.c.id == failed_id).values(marked=word)
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(change)).rowcount > 0


class SqlHours:
    """One model's past by hours, from the roll-up. Raises StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def hours(self, model: str, since: float) -> Sequence[Hour]:
        columns = hour_count.c
        query = select(columns.starts_at, columns.counts).where(
            columns.model == model, columns.scope == "", columns.starts_at >= since
        )
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).all()
        return [_hour(float(at), counts) for at, counts in rows]


def _hour(at: float, counts: Mapping[str, Any]) -> Hour:
    known = Counts(**{name: int(value) for name, value in counts.items() if name in COUNT_NAMES})
    return Hour(at=at, judged=known.judged, repeats=known.repeats)


def _search(sought: Sought) -> Select[Any]:
    columns = call.c
    query = select(call).order_by(columns.at.desc(), columns.request_id)
    if sought.request_id:
        # A range instead of LIKE: it uses the key's index on both databases, and no sign in it has a meaning.
        query = query.where(
            columns.request_id >= sought.request_id, columns.request_id < sought.request_id + "\U0010ffff"
        )
    for name in FIELDS:
        if wanted := getattr(sought, name):
            query = query.where(columns[name] == wanted)
    if sought.fallback:
        query = query.where(columns.fallback == ("none" if sought.fallback == ERROR else sought.fallback))
    if sought.fallback in ("none", ERROR):
        query = query.where(columns.status >= 400 if sought.fallback == ERROR else columns.status < 400)
    if sought.model:
        query = query.where(columns.served_model == sought.model)
    if sought.trouble:
        query = query.where(or_(columns.fallback != "none", columns.status >= 400))
    if sought.since:
        query = query.where(columns.at >= sought.since)
    if sought.before is not None:
        query = query.where(columns.at < sought.before)
    return query


def _asked(row: RowMapping) -> Asked:
    plain = {name: row[name] for name in Asked.__dataclass_fields__ if name != "tries"}
    return Asked(**plain, tries=tuple(_try(one) for one in row["attempts"] or ()))


def _try(one: Mapping[str, Any]) -> Try:
    """Rows of earlier releases say less."""
    return Try(
        model=str(one.get("model", "")),
        endpoint=int(one.get("endpoint") or 0),
        fault=str(one.get("fault") or ""),
        status=one.get("status"),
        begun_ms=one.get("begun_ms"),
        elapsed_ms=int(one.get("elapsed_ms") or 0),
        loop_class=str(one.get("loop_class") or ""),
        held_chars=int(one.get("held_chars") or 0),
        suppressed_chars=int(one.get("suppressed_chars") or 0),
    )


def _failed(row: RowMapping) -> Failed:
    plain = {name: row[name] for name in Failed.__dataclass_fields__ if name != "rules"}
    return Failed(**plain, rules=tuple(row["rules"] or ()))


_records: type[Records] = SqlRecords
_hours: type[HourBook] = SqlHours

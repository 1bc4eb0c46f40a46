"""What the hourly watch found, and which versions of a vendor's model it has seen."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.alerts.alert import AlertKind
from monitor.versions import Version, VersionStore
from monitor.watch import Finding, FindingStore
from store.documents import from_row, plain
from store.sql_link import answered, insert_new
from store.tables import call, finding, model_version

PLACE = ("model", "endpoint", "asked", "served", "fingerprint")


class SqlFindings:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def add(self, found: Finding) -> bool:
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(insert_new(self._engine, finding), plain(found))).rowcount > 0

    async def findings(
        self, *, model: str | None = None, kind: AlertKind | None = None, since: float = 0.0, limit: int = 200
    ) -> Sequence[Finding]:
        query = select(finding).where(finding.c.at >= since)
        if model is not None:
            query = query.where(finding.c.model == model)
        if kind is not None:
            query = query.where(finding.c.kind == kind)
        query = query.order_by(finding.c.at.desc(), finding.c.id).limit(limit)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [from_row(Finding, row) for row in rows]


class SqlVersions:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def seen(self, model: str, since: float, until: float, limit: int) -> Sequence[Version]:
        span = (call.c.served_model == model, call.c.at >= since, call.c.at < until)
        query = select(call.c.at, call.c.attempts).where(*span)
        # Both ends of the span, so that a change in the middle of a busy hour shows as well as one at its end.
        halves = [query.order_by(order).limit((limit + 1) // 2) for order in (call.c.at, call.c.at.desc())]
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = [row for half in halves for row in (await connection.execute(half)).all()]
        found: dict[tuple[int, str, str], Version] = {}
        for at, attempts in sorted(rows, key=lambda row: row.at):
            for attempt in attempts:
                if attempt.get("model") == model and attempt.get("served"):
                    version = _version(model, at, attempt)
                    found.setdefault((version.endpoint, version.served, version.fingerprint), version)
        return list(found.values())

    async def known(self, model: str) -> Sequence[Version]:
        columns = [model_version.c[name] for name in PLACE]
        query = select(*columns, model_version.c.first_at.label("at")).where(model_version.c.model == model)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (
                    await connection.execute(query.order_by(model_version.c.first_at, model_version.c.id))
                ).mappings()
                return [from_row(Version, row) for row in rows.all()]

    async def keep(self, versions: Sequence[Version]) -> None:
        if not versions:
            return
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        new = dialect.insert(model_version)
        later = func.max if dialect is sqlite else func.greatest
        again = {"last_at": later(new.excluded.last_at, model_version.c.last_at)}
        rows = [{**{name: getattr(it, name) for name in PLACE}, "first_at": it.at, "last_at": it.at} for it in versions]
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await connection.execute(new.on_conflict_do_update(index_elements=PLACE, set_=again), rows)


def _version(model: str, at: float, attempt: Mapping[str, Any]) -> Version:
    return Version(
        model=model,
        endpoint=int(attempt.get("endpoint", 0)),
        asked="",
        served=str(attempt["served"]),
        fingerprint=str(attempt.get("fingerprint", "")),
        at=at,
    )


_findings: type[FindingStore] = SqlFindings
_versions: type[VersionStore] = SqlVersions

"""Every gray release, in SQL: its document as it stood last, for reports and to put back what Redis lost."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import and_, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.gray import GrayRelease
from monitor.gray_keeper import GrayArchive
from store.documents import from_row, plain
from store.sql_link import answered
from store.tables import gray_release


class SqlGray:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def keep(self, release: GrayRelease) -> None:
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        row = {
            "id": release.id,
            "model": release.model,
            "candidate": release.candidate,
            "version": release.version,
            "stage": release.stage.value,
            "started_at": release.started_at,
            "epoch": release.epoch,
            "document": plain(release),
        }
        new = dialect.insert(gray_release)
        write = new.on_conflict_do_update(
            index_elements=["id"],
            set_={name: new.excluded[name] for name in ("stage", "epoch", "document")},
            where=new.excluded.epoch >= gray_release.c.epoch,
        )
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await connection.execute(write, row)

    async def latest(self, models: Sequence[str]) -> Mapping[str, GrayRelease]:
        newest = (
            select(gray_release.c.model, func.max(gray_release.c.started_at).label("started_at"))
            .where(gray_release.c.model.in_(models))
            .group_by(gray_release.c.model)
            .subquery()
        )
        same = and_(gray_release.c.model == newest.c.model, gray_release.c.started_at == newest.c.started_at)
        query = select(gray_release.c.document).join(newest, same).order_by(gray_release.c.epoch)
        return {release.model: release for release in await self._documents(query)}

    async def releases(self, model: str | None = None, limit: int = 50) -> Sequence[GrayRelease]:
        query = select(gray_release.c.document).order_by(gray_release.c.started_at.desc(), gray_release.c.epoch.desc())
        if model is not None:
            query = query.where(gray_release.c.model == model)
        return await self._documents(query.limit(limit))

    async def release(self, id: str) -> GrayRelease | None:
        found = await self._documents(select(gray_release.c.document).where(gray_release.c.id == id))
        return found[0] if found else None

    async def _documents(self, query: Any) -> list[GrayRelease]:
        with answered(self._engine):
            async with self._engine.connect() as connection:
                documents = (await connection.execute(query)).scalars().all()
        return [from_row(GrayRelease, document) for document in documents]


_archive: type[GrayArchive] = SqlGray

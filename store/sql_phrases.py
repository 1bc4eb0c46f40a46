"""Every saved version of the phrases; the newest of a language is in force. Rows are added and read, never changed."""

from collections.abc import Mapping, Sequence

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from console.phrase_ports import PhraseVersion
from store.sql_link import answered
from store.tables import phrase_version


class SqlPhrases:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def save(self, language: str, body: str, actor: str, reason: str, at: float) -> int:
        values = {"language": language, "body": body, "actor": actor, "reason": reason, "at": at}
        with answered(self._engine):
            async with self._engine.begin() as connection:
                added = await connection.execute(insert(phrase_version).returning(phrase_version.c.id), values)
                return int(added.scalar_one())

    async def versions(self, language: str, limit: int) -> Sequence[PhraseVersion]:
        """Newest first."""
        columns = phrase_version.c
        query = select(phrase_version).where(columns.language == language).order_by(columns.id.desc()).limit(limit)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [PhraseVersion(**row) for row in rows]

    async def version(self, id: int) -> PhraseVersion | None:
        query = select(phrase_version).where(phrase_version.c.id == id)
        with answered(self._engine):
            async with self._engine.connect() as connection:
                row = (await connection.execute(query)).mappings().first()
        return PhraseVersion(**row) if row is not None else None

    async def newest(self, after: int = 0) -> Mapping[str, PhraseVersion]:
        """The newest version of each language; empty when none is newer than version `after`."""
        last = select(func.max(phrase_version.c.id)).group_by(phrase_version.c.language)
        query = select(phrase_version).where(phrase_version.c.id.in_(last))
        with answered(self._engine):
            async with self._engine.connect() as connection:
                newest = await connection.execute(select(func.max(phrase_version.c.id)))
                if (newest.scalar() or 0) <= after:
                    return {}
                rows = (await connection.execute(query)).mappings().all()
        return {row["language"]: PhraseVersion(**row) for row in rows}

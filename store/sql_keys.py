"""App keys: shown once, kept as SHA-256, revoked at once.

Posture when SQL is gone: whoever holds the last list goes on with it (router/auth.py); nothing is created or revoked.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import RowMapping, insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from router.auth import Caller, digest
from store.sql_link import answered
from store.tables import app_key

PREFIX = "pmk-"
KEY_BYTES = 24
"""192 random bits: beyond guessing, so the hash needs no salt and no work factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppKey:
    """One key as an operator sees it. `hint` is its end, to tell keys apart; `routes` None: all."""

    id: str
    app: str
    hint: str
    routes: tuple[str, ...] | None
    per_minute: int | None
    created_at: float
    created_by: str
    revoked_at: float | None = None
    tokens_per_minute: int | None = None
    max_concurrent: int | None = None
    support: bool = False
    """May file feedback on other apps' requests."""


class SqlKeys:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def create(
        self,
        app: str,
        *,
        by: str,
        now_s: float,
        routes: Sequence[str] | None = None,
        per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        max_concurrent: int | None = None,
        support: bool = False,
    ) -> tuple[AppKey, str]:
        """File a new key; the record, and the key itself, which is never shown again."""
        secret = PREFIX + secrets.token_urlsafe(KEY_BYTES)
        record = AppKey(
            id=secrets.token_hex(8),
            app=app,
            hint=secret[-4:],
            routes=None if routes is None else tuple(routes),
            per_minute=per_minute,
            created_at=now_s,
            created_by=by,
            tokens_per_minute=tokens_per_minute,
            max_concurrent=max_concurrent,
            support=support,
        )
        values = {name: getattr(record, name) for name in AppKey.__dataclass_fields__}
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await connection.execute(insert(app_key), {**values, "hash": digest(secret)})
        return record, secret

    async def keys(self, *, revoked: bool = False) -> Sequence[AppKey]:
        """Oldest first; revoked ones only when asked for."""
        query = select(app_key).order_by(app_key.c.created_at, app_key.c.id)
        if not revoked:
            query = query.where(app_key.c.revoked_at.is_(None))
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return [_record(row) for row in rows]

    async def callers(self) -> Mapping[str, Caller]:
        """Who may call, by the digest of the key: what router.auth.Keys.replace takes."""
        query = select(app_key).where(app_key.c.revoked_at.is_(None))
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(query)).mappings().all()
        return {row["hash"]: _caller(_record(row)) for row in rows}

    async def revoke(self, id: str, now_s: float) -> bool:
        """False: no such key, or it was revoked before."""
        change = update(app_key).where(app_key.c.id == id, app_key.c.revoked_at.is_(None)).values(revoked_at=now_s)
        with answered(self._engine):
            async with self._engine.begin() as connection:
                return (await connection.execute(change)).rowcount > 0


def _record(row: RowMapping) -> AppKey:
    values = {name: row[name] for name in AppKey.__dataclass_fields__}
    routes = values["routes"]
    values["routes"] = tuple(routes) if isinstance(routes, list) else None
    return AppKey(**values)


def _caller(key: AppKey) -> Caller:
    routes = None if key.routes is None else frozenset(key.routes)
    return Caller(
        app=key.app,
        routes=routes,
        per_minute=key.per_minute,
        tokens_per_minute=key.tokens_per_minute,
        max_concurrent=key.max_concurrent,
        support=key.support,
    )

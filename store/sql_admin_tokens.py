"""Admin tokens with roles: shown once, kept as SHA-256, withdrawn at once.

Posture when SQL is gone: whoever holds the last list goes on with it (pointsman/doorkeeper.py).
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import RowMapping, insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from console.access import Identity, Role
from router.auth import digest
from store.documents import from_row
from store.sql_link import answered
from store.tables import admin_token

PREFIX = "pma-"
TOKEN_BYTES = 24
"""192 random bits: beyond guessing, so the hash needs no salt and no work factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminToken:
    """One token as an operator sees it. `name`: the person or program it was made for; `hint` is its end."""

    id: str
    name: str
    role: Role
    hint: str
    created_at: float
    created_by: str
    revoked_at: float | None = None


class SqlAdminTokens:
    """All methods raise StoreUnavailable."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def create(self, name: str, role: Role, *, by: str, now_s: float) -> tuple[AdminToken, str]:
        """File a new token; the record, and the token itself, which is never shown again."""
        secret = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        record = AdminToken(
            id=secrets.token_hex(8), name=name, role=role, hint=secret[-4:], created_at=now_s, created_by=by
        )
        values = {field: getattr(record, field) for field in AdminToken.__dataclass_fields__}
        with answered(self._engine):
            async with self._engine.begin() as connection:
                await connection.execute(insert(admin_token), {**values, "role": role.value, "hash": digest(secret)})
        return record, secret

    async def tokens(self, *, revoked: bool = False) -> Sequence[AdminToken]:
        """Oldest first; revoked ones only when asked for."""
        return [from_row(AdminToken, row) for row in await self._rows(revoked)]

    async def identities(self) -> Sequence[Identity]:
        """Whom the tokens in force belong to."""
        rows = await self._rows(revoked=False)
        return [Identity(digest=row["hash"], role=Role(row["role"]), name=row["name"]) for row in rows]

    async def revoke(self, id: str, now_s: float) -> bool:
        """False: no such token, or it was revoked before."""
        here = (admin_token.c.id == id, admin_token.c.revoked_at.is_(None))
        with answered(self._engine):
            async with self._engine.begin() as connection:
                change = update(admin_token).where(*here).values(revoked_at=now_s)
                return (await connection.execute(change)).rowcount > 0

    async def _rows(self, revoked: bool) -> Sequence[RowMapping]:
        query = select(admin_token).order_by(admin_token.c.created_at, admin_token.c.id)
        if not revoked:
            query = query.where(admin_token.c.revoked_at.is_(None))
        with answered(self._engine):
            async with self._engine.connect() as connection:
                rows: Sequence[RowMapping] = (await connection.execute(query)).mappings().all()
        return rows

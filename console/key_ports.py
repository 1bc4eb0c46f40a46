"""App keys as operators make, see and revoke them. Fulfilled by the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """One app key as an operator sees it; `hint` is its end."""

    id: str
    app: str
    hint: str
    routes: tuple[str, ...] | None
    per_minute: int | None
    tokens_per_minute: int | None
    max_concurrent: int | None
    support: bool
    created_at: float
    created_by: str
    revoked_at: float | None


class KeyRing(Protocol):
    """App keys. All methods raise StoreUnavailable."""

    async def all(self) -> Sequence[KeyRow]: ...

    async def make(
        self,
        app: str,
        *,
        by: str,
        routes: Sequence[str] | None,
        per_minute: int | None,
        tokens_per_minute: int | None,
        max_concurrent: int | None,
        support: bool,
    ) -> str:
        """The key itself, which is never shown again."""

    async def revoke(self, id: str) -> bool: ...
    def required(self) -> bool:
        """Whether the settings ask for a key though none was ever made; else the first one cuts off who has none."""

    def routes(self) -> Sequence[str]: ...

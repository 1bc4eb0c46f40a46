"""Phrases in force, and every version saved. Fulfilled in pointsman/phrases.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fallback_phrases.catalog import Phrases


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseVersion:
    """One saved state of one language's phrases; `body` is the text of a phrase file."""

    id: int
    language: str
    at: float
    actor: str
    reason: str
    body: str


class PhraseBook(Protocol):
    """Phrases in force and every version saved. Async methods raise StoreUnavailable."""

    def current(self) -> Mapping[str, Phrases]:
        """By language, as this process uses them now."""

    def scenes(self) -> frozenset[str]: ...

    async def versions(self, language: str, limit: int) -> Sequence[PhraseVersion]:
        """Newest first."""

    async def version(self, id: int) -> PhraseVersion | None: ...
    async def save(self, language: str, body: str, actor: str, reason: str) -> int: ...

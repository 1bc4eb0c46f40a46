"""The phrases in force: those that ship with the package, under what operators saved since; the same on every replica.

Posture when SQL is gone: what this process last knew stays in force.
"""

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from base.clock import Clock, SystemClock
from breaker.ports import StoreUnavailable
from console.phrase_ports import PhraseBook, PhraseVersion
from fallback_phrases.catalog import BadPhraseFile, Catalog, Phrases, parse
from fallback_phrases.catalog import load as load_shipped
from router.deps import Deps
from store.sql_phrases import SqlPhrases

log = logging.getLogger("pointsman")
LOOK_S = 2.0
"""Real seconds: a saved phrase is said by every replica that soon."""


@dataclass(slots=True, kw_only=True)
class KeptPhrases:
    """Swaps `deps.catalog` between two requests when a newer version was saved."""

    deps: Deps
    store: SqlPhrases
    seen: int = 0

    async def refresh(self) -> None:
        """Look once. Raises StoreUnavailable."""
        newest = await self.store.newest(self.seen)
        if newest:
            self.deps.catalog = joined(newest.values())
            self.seen = max(version.id for version in newest.values())

    async def run(self) -> None:
        """Look until cancelled. Runs in a task of its own."""
        clock = SystemClock()
        while True:
            with contextlib.suppress(StoreUnavailable):  # what is known stays in force
                await self.refresh()
            await clock.sleep(LOOK_S)


def joined(saved: Iterable[PhraseVersion]) -> Catalog:
    """The shipped phrases, each language replaced by its saved version. One that cannot be read is left out and logged.

    A version without sentences for when no model replied, as those saved before there were any, keeps the shipped ones.
    """
    languages: dict[str, Phrases] = dict(load_shipped().languages)
    for version in saved:
        try:
            phrases = parse(version.body, f"phrase version {version.id}")
        except BadPhraseFile:
            log.exception("saved phrases cannot be read; the ones before stay")
            continue
        before = languages.get(phrases.language)
        if before is not None and not phrases.unreachable:
            phrases = replace(phrases, unreachable=before.unreachable)
        languages[phrases.language] = phrases
    return Catalog(languages.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPhrases:
    """The console's port: what is in force here, and every version saved."""

    kept: KeptPhrases
    store: SqlPhrases
    clock: Clock

    def current(self) -> Mapping[str, Phrases]:
        return self.kept.deps.catalog.languages

    def scenes(self) -> frozenset[str]:
        topology = self.kept.deps.topology
        return topology.scenes | {route.scene for route in topology.routes.values()}

    async def versions(self, language: str, limit: int) -> Sequence[PhraseVersion]:
        return await self.store.versions(language, limit)

    async def version(self, id: int) -> PhraseVersion | None:
        return await self.store.version(id)

    async def save(self, language: str, body: str, actor: str, reason: str) -> int:
        saved = await self.store.save(language, body, actor, reason, self.clock.now_s())
        await self.kept.refresh()  # whoever saved it sees it at once
        return saved


_book: type[PhraseBook] = SavedPhrases

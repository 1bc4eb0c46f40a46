"""State documents with a copy on disk, so that levels and forced modes outlive Redis and a restart without it.

The copy is what this machine last saw. It speaks twice: at a start while Redis is away, once, so that the process
begins where the fleet stood; and when Redis answers but has no document, which is then rebuilt from it instead of
beginning HEALTHY (BREAKER.md, Redis).
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from breaker.ports import StateStore, StoreUnavailable
from breaker.snapshot import Snapshot
from store.documents import from_json, to_json
from store.sql_why import why

log = logging.getLogger(__name__)


class BackedStates:
    """`inner` with a copy in the file `path`. A copy that cannot be written or read is logged and done without."""

    def __init__(self, inner: StateStore, path: Path) -> None:
        self._inner = inner
        self._path = path
        self._copy: dict[str, Snapshot] | None = None
        self._answered = False

    async def load(self, models: Sequence[str]) -> Mapping[str, Snapshot]:
        copy = await self._known()
        try:
            kept = dict(await self._inner.load(models))
        except StoreUnavailable:
            first, self._answered = not self._answered, True
            if first and copy:
                return {model: copy[model] for model in models if model in copy}
            raise
        self._answered = True
        lost = [model for model in models if model not in kept and model in copy]
        for model in lost:
            await self._inner.compare_and_set(copy[model], 0)
        if lost:
            # Read again: another replica may have put back a newer one first.
            kept.update(await self._inner.load(lost))
        await self._keep(kept)
        return kept

    async def compare_and_set(self, snapshot: Snapshot, expected_epoch: int) -> bool:
        stored = await self._inner.compare_and_set(snapshot, expected_epoch)
        if stored:
            await self._known()
            await self._keep({snapshot.model: snapshot})
        return stored

    async def _known(self) -> dict[str, Snapshot]:
        if self._copy is None:
            self._copy = await asyncio.to_thread(_read, self._path)
        return self._copy

    async def _keep(self, seen: Mapping[str, Snapshot]) -> None:
        copy = await self._known()
        if any(
            kept is not snapshot and kept != snapshot for kept, snapshot in ((copy.get(m), s) for m, s in seen.items())
        ):
            copy.update(seen)
            await asyncio.to_thread(_write, self._path, list(copy.values()))


def _read(path: Path) -> dict[str, Snapshot]:
    try:
        return {snapshot.model: snapshot for snapshot in from_json(list[Snapshot], path.read_bytes())}
    except FileNotFoundError:
        return {}
    except (OSError, StoreUnavailable) as error:
        log.warning("copy of the states %s is of no use: %s", path, error)
        return {}


def _write(path: Path, snapshots: list[Snapshot]) -> None:
    """Whole or not at all: a process that dies while writing leaves the old copy."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(to_json(snapshots))
        draft.replace(path)
    except OSError as error:
        log.warning("copy of the states %s was not written: %s", path, why(error))
        with contextlib.suppress(OSError):
            draft.unlink()


_states: type[StateStore] = BackedStates

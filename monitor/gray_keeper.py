"""Watches the gray releases and carries out what is decided: reads both arms, writes the document, tells people.

Acts: over the documents, their archive, the counts and the desk; decisions are gray.py's and gray_commands.py's.
Every write is a compare-and-set, so two leaders, or a leader and a person, cannot both move a release. What a leader writes
carries its fence: one that lost the lease and does not know it is refused from its successor's first write on.
"""

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from base.clock import Clock
from breaker.gray import GrayRelease
from breaker.gray_board import GrayStore
from breaker.levels import Level
from breaker.ports import CountStore, StoreUnavailable
from breaker.seen import last_complete_minute
from breaker.snapshot import Snapshot
from breaker.window import FAST_BUCKET_S, Counts
from monitor import gray_commands as commands
from monitor.gray import SHUT, SICK, Around, GrayPolicy, RefusedGray, absorbed, next_release
from monitor.gray_report import alert_of
from monitor.ports import AlertDesk

log = logging.getLogger(__name__)
GRACE_S = 5.0
"""Late flushes of the minute that just ended: replicas write every 200 ms."""
STUCK_WINDOW_S = 120
TRIES = 5
TOLD_FOR_S = 86_400.0
"""An end is told again for a day, in case the desk was away; it ignores what it knows."""
MINUTE_S = 60


class GrayArchive(Protocol):
    """Every release ever, for reports, and to put a document back that Redis lost. Raises StoreUnavailable."""

    async def keep(self, release: GrayRelease) -> None:
        """Write it over what is kept under its id, unless that is newer."""
        ...

    async def latest(self, models: Sequence[str]) -> Mapping[str, GrayRelease]:
        """The newest release of each model."""
        ...

    async def releases(self, model: str | None = None, limit: int = 50) -> Sequence[GrayRelease]:
        """Newest first."""
        ...

    async def release(self, id: str) -> GrayRelease | None: ...


class GrayKeeper:
    """One per process that has the monitor's role; only the leader ticks, anybody may command."""

    def __init__(
        self,
        candidates: Mapping[str, str],
        store: GrayStore,
        archive: GrayArchive,
        counts: CountStore,
        snapshot: Callable[[str], Snapshot],
        desk: AlertDesk,
        policy: GrayPolicy,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        """`candidates`: every model of the configuration, with the version that is asked for by default."""
        self._models, self._store, self._archive, self._counts = dict(candidates), store, archive, counts
        self._snapshot, self._desk, self._policy, self._clock = snapshot, desk, policy, clock
        self._new_id = new_id
        self._failures: dict[str, int] = {}
        self._searched = 0
        self._told_minute: dict[str, tuple[int, int]] = {}

    # -- the leader's tick ----------------------------------------------------------------------------------------

    async def tick(self, fence: int = 0) -> None:
        """Look at every release once, as the leader under `fence`. Raises StoreUnavailable where the documents themselves
        cannot be read."""
        documents = dict(await self._store.load(tuple(self._models)))
        for model in await self._put_back(documents, fence):
            documents.update(await self._store.load([model]))
        for release in documents.values():
            if release.fence > fence:
                continue  # a later leader has it
            if release.stage.active:
                release = await self._look(release, fence)
            await self._tell(release)

    async def _look(self, here: GrayRelease, fence: int) -> GrayRelease:
        now_s = self._clock.now_s()
        read = here
        try:
            read = await self._read(here, now_s)
            around = await self._around(here, now_s)
            self._failures[here.model] = 0
        except StoreUnavailable as error:
            self._failures[here.model] = self._failures.get(here.model, 0) + 1
            log.warning("gray release of %s: its counts cannot be read: %s", here.model, error)
            around = replace(self._levels(here), source_failures=self._failures[here.model])
        moved = next_release(read, around, self._policy, now_s)
        if moved is here:
            return here
        if moved is read:
            moved = read.changed()  # counts alone
        moved = replace(moved, fence=fence)
        return moved if await self._store.compare_and_set(moved, here.epoch) else here

    async def _read(self, here: GrayRelease, now_s: float) -> GrayRelease:
        upto = last_complete_minute(now_s, GRACE_S) + 1
        if upto <= here.counted_to:
            return here
        gray = await self._arm(here.candidate, here.gray_arm, here.counted_to, upto)
        stable = await self._arm(here.model, here.stable_arm, here.counted_to, upto)
        return absorbed(here, gray, stable, upto, now_s)

    async def _arm(self, model: str, arm: str, first: int, upto: int) -> dict[int, Counts]:
        rows = await self._counts.minutes(model, first, upto - 1)
        return {row.minute: row.counts for row in rows if row.scope == f"arm:{arm}"}

    async def _around(self, here: GrayRelease, now_s: float) -> Around:
        bucket = int(now_s // FAST_BUCKET_S)
        # Streams of before the release are not the release's doing.
        first = max(bucket - STUCK_WINDOW_S // FAST_BUCKET_S, int(here.started_at // FAST_BUCKET_S) + 1)
        rows = await self._counts.fast(here.candidate, first, bucket)
        sessions = {session for row in rows for session in row.stuck_sessions}
        return replace(self._levels(here), stuck=sum(row.stuck for row in rows), stuck_sessions=len(sessions))

    def _levels(self, here: GrayRelease) -> Around:
        return Around(stable=_level(self._snapshot(here.model)), candidate=_level(self._snapshot(here.candidate)))

    async def _put_back(self, documents: Mapping[str, GrayRelease], fence: int) -> list[str]:
        """Releases whose document Redis lost, put back from the archive; looked for once a minute."""
        missing = [model for model in self._models if model not in documents]
        minute = int(self._clock.now_s() // MINUTE_S)
        if not missing or minute == self._searched:
            return []
        self._searched = minute
        put = []
        for model, kept in (await self._archive.latest(missing)).items():
            if kept.split > 0.0 and await self._store.compare_and_set(replace(kept, fence=max(fence, kept.fence)), 0):
                log.warning("gray release of %s: its document was lost and is put back", model)
                put.append(model)
        return put

    async def _tell(self, release: GrayRelease) -> None:
        """File it and hand in what people must know: at each change, and once a minute while it goes on."""
        now_s = self._clock.now_s()
        mark = (release.epoch, int(now_s // MINUTE_S) if release.stage.active else 0)
        if self._told_minute.get(release.model) == mark:
            return
        if not release.stage.active and now_s - release.ended_at > TOLD_FOR_S:
            return
        await self._archive.keep(release)
        fire, alert = alert_of(release, self._policy, now_s)
        await (self._desk.fire if fire else self._desk.resolve)(alert)
        if alert.passes:
            await self._desk.resolve(replace(alert, moment=False, at=now_s))
        self._told_minute[release.model] = mark

    # -- commands -------------------------------------------------------------------------------------------------

    async def start(
        self,
        model: str,
        candidate: str,
        *,
        version: str = "",
        by_itself: bool = True,
        actor: str,
        note: str,
        fence: int | None = None,
        anew: bool = False,
    ) -> GrayRelease:
        """Begin. `anew`: over again with another version where the same candidate is under way, which a person stops first.
        `fence`: of the leader, where no person does it.

        Raises KeyError (unknown model), RefusedGray, StoreUnavailable.
        """
        wanted = version or self._models[candidate]
        self._snapshot(model)
        if (level := _level(self._snapshot(candidate))) in SHUT:
            raise RefusedGray(f"{candidate!r} is {level}: a release begins with a model that may take traffic")
        if (level := _level(self._snapshot(model))) in SICK:
            raise RefusedGray(f"{model!r} is {level}: there is nothing sound to compare with")
        for other in (await self._store.load(tuple(self._models))).values():
            if other.stage.active and {other.model, other.candidate} & {model, candidate} and other.model != model:
                raise RefusedGray(f"{candidate!r} or {model!r} takes part in the release of {other.model!r}")
        id = self._new_id()

        def begin(here: GrayRelease | None) -> GrayRelease:
            if here is not None and here.stage.active and not anew:
                under_way = f"{here.candidate!r} in version {here.version!r} ({here.stage.value})"
                raise RefusedGray(f"{model!r} has a release under way already, {under_way}: stop it first")
            return commands.started(
                here, model=model, candidate=candidate, version=wanted, id=id, by_itself=by_itself,
                policy=self._policy, now_s=self._clock.now_s(), actor=actor, note=note,
            )  # fmt: skip

        return await self._change(model, begin, fence)

    async def step(self, model: str, actor: str, note: str) -> GrayRelease:
        """As `start` raises."""
        return await self._moved(model, lambda h, now_s: commands.advanced(h, self._policy, now_s, actor, note))

    async def pause(self, model: str, actor: str, note: str) -> GrayRelease:
        return await self._moved(model, lambda h, now_s: commands.paused(h, now_s, actor, note))

    async def resume(self, model: str, actor: str, note: str) -> GrayRelease:
        return await self._moved(model, lambda h, now_s: commands.resumed(h, now_s, actor, note))

    async def stop(self, model: str, actor: str, note: str) -> GrayRelease:
        return await self._moved(model, lambda h, now_s: commands.stopped(h, now_s, actor, note))

    async def promote(self, model: str, actor: str, note: str) -> GrayRelease:
        return await self._moved(model, lambda h, now_s: commands.promoted(h, now_s, actor, note))

    async def version_changed(self, candidate: str, version: str, fence: int | None = None) -> None:
        """A vendor changed what runs behind a candidate: its analysis begins anew (BREAKER.md, Gray release)."""
        note = "the vendor changed the version"
        for here in (await self._store.load(tuple(self._models))).values():
            if here.candidate == candidate and here.stage.active and here.version != version:
                again = self.start(
                    here.model, candidate, version=version, by_itself=here.by_itself, actor="monitor", note=note,
                    fence=fence, anew=True,
                )  # fmt: skip
                with contextlib.suppress(RefusedGray):  # one of the two is sick: the tick deals with that
                    await again

    async def _moved(self, model: str, move: Callable[[GrayRelease, float], GrayRelease]) -> GrayRelease:
        def change(here: GrayRelease | None) -> GrayRelease:
            if here is None:
                raise RefusedGray(f"there is no release of {model!r}")
            return move(here, self._clock.now_s())

        return await self._change(model, change)

    async def _change(
        self, model: str, change: Callable[[GrayRelease | None], GrayRelease], fence: int | None = None
    ) -> GrayRelease:
        self._snapshot(model)
        for _ in range(TRIES):
            here = (await self._store.load([model])).get(model)
            # A person leads nothing: what a person does keeps the fence of the last leader.
            moved = change(here) if fence is None else replace(change(here), fence=fence)
            if await self._store.compare_and_set(moved, here.epoch if here else 0):
                if here is not None and here.id != moved.id:
                    await self._archive.keep(replace(here, ended_at=here.ended_at or self._clock.now_s()))
                await self._archive.keep(moved)
                return moved
        raise StoreUnavailable(f"gray release of {model}: {TRIES} writers were faster")


def _level(snapshot: Snapshot) -> Level:
    """Where it stands for a comparison: a model that is only observed is as sick as it would be."""
    return snapshot.would_be or snapshot.effective

"""Gray releases joined to a service: the keeper, its tick, and what the console sees and does."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from base.ids import new_boot_id
from breaker.gray import GrayRelease
from breaker.gray_board import GrayStore
from console.gray_api import GrayRefused, Grays
from monitor.gray import RefusedGray
from monitor.gray_keeper import GrayArchive, GrayKeeper
from monitor.gray_report import markdown, report
from pointsman.assemble import Service
from store.redis_gray import RedisGray
from store.redis_windows import RedisCounts
from store.sql_gray import SqlGray

TICK_S = 5.0
"""A version that streams get stuck on is stopped within this long; the routers hear of it a second later."""


def gray_keeper(service: Service) -> GrayKeeper:
    """The keeper of this process."""
    models = service.deps.topology.models
    return GrayKeeper(
        {name: model.endpoints[0].upstream_model for name, model in models.items()},
        RedisGray(service.link),
        SqlGray(service.engine),
        RedisCounts(service.link, service.clock),
        service.guard.snapshot,
        service.desk,
        service.settings.gray,
        service.clock,
        new_boot_id,
    )


def grays_of(service: Service) -> "KeptGrays":
    """What the console sees and does."""
    return KeptGrays(
        names=tuple(service.deps.topology.models),
        keeper=gray_keeper(service),
        store=RedisGray(service.link),
        archive=SqlGray(service.engine),
        zone=ZoneInfo(service.settings.monitor.timezone),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptGrays:
    """The console's port over the keeper."""

    names: Sequence[str]
    keeper: GrayKeeper
    store: GrayStore
    archive: GrayArchive
    zone: ZoneInfo

    def models(self) -> Sequence[str]:
        return self.names

    async def standing(self) -> Sequence[GrayRelease]:
        return sorted((await self.store.load(self.names)).values(), key=lambda release: release.model)

    async def history(self, model: str | None, limit: int) -> Sequence[GrayRelease]:
        return await self.archive.releases(model, limit)

    async def find(self, id: str) -> GrayRelease | None:
        if id in self.names:
            return (await self.archive.latest([id])).get(id)
        return await self.archive.release(id)

    def report(self, release: GrayRelease) -> Mapping[str, Any]:
        return report(release)

    def markdown(self, release: GrayRelease, language: str) -> str:
        return markdown(release, language, self._when)

    async def start(
        self, model: str, candidate: str, *, version: str, by_itself: bool, actor: str, note: str
    ) -> GrayRelease:
        return await _asked(
            self.keeper.start(model, candidate, version=version, by_itself=by_itself, actor=actor, note=note)
        )

    async def step(self, model: str, actor: str, note: str) -> GrayRelease:
        return await _asked(self.keeper.step(model, actor, note))

    async def pause(self, model: str, actor: str, note: str) -> GrayRelease:
        return await _asked(self.keeper.pause(model, actor, note))

    async def resume(self, model: str, actor: str, note: str) -> GrayRelease:
        return await _asked(self.keeper.resume(model, actor, note))

    async def stop(self, model: str, actor: str, note: str) -> GrayRelease:
        return await _asked(self.keeper.stop(model, actor, note))

    async def promote(self, model: str, actor: str, note: str) -> GrayRelease:
        return await _asked(self.keeper.promote(model, actor, note))

    def _when(self, at: float) -> str:
        try:
            return datetime.fromtimestamp(at, self.zone).strftime("%m-%d %H:%M")
        except (OverflowError, ValueError):  # scaled time leaves the calendar behind
            return f"{at:.0f}"


async def _asked(act: Awaitable[GrayRelease]) -> GrayRelease:
    try:
        return await act
    except RefusedGray as refused:
        raise GrayRefused(str(refused)) from refused


_grays: type[Grays] = KeptGrays

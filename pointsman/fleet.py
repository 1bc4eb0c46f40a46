"""What the console's ports need, over the guard and the store: where models stand, and a record of each act."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from base.clock import Clock
from breaker.explain import Explanation
from breaker.guard import Guard
from breaker.levels import Level, Mode
from breaker.policy import BreakerPolicy
from breaker.ports import CountStore
from breaker.seen import Seen
from breaker.share import phrase_only, shares, without
from breaker.snapshot import Snapshot
from breaker.window import MinuteRow
from console.fleet_ports import Act, AuditTrail, Known, Refusal, Share, Yard
from router.journey import Deps
from router.rests import Resting, RestReason
from router.topology import Route
from store.sql_admin import SqlAdminLog
from store.sql_queue import RowQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedFleet:
    """The fleet as this process knows it."""

    guard: Guard
    deps: Deps
    clock: Clock
    counts: CountStore
    calls: RowQueue

    @property
    def policy(self) -> BreakerPolicy:
        return self.guard.policy

    @property
    def models(self) -> Sequence[str]:
        return self.guard.models

    def snapshot(self, model: str) -> Snapshot:
        return self.guard.snapshot(model)

    def shares(self, model: str) -> Sequence[Share]:
        return self.all_shares().get(model, ())

    def all_shares(self) -> Mapping[str, Sequence[Share]]:
        levels, out = self._usable(), dict[str, list[Share]]()
        for route in self.deps.topology.routes.values():
            configured, effective = shares(route.candidates, {}), self.deps.shares(route.candidates, levels)
            for candidate in route.candidates:
                model = candidate.model
                one = Share(route=route.name, configured=configured[model], effective=effective[model])
                out.setdefault(model, []).append(one)
        return out

    def _usable(self) -> Mapping[str, Level]:
        """Levels, with those out whose vendor refuses us at every endpoint."""
        return without(self.guard.levels(), self.deps.rests.refused())

    def refusals(self) -> Mapping[str, Sequence[Refusal]]:
        resting: dict[str, list[Resting]] = {}
        for one in self.deps.rests.resting(self.clock.now_s()):
            resting.setdefault(one.model, []).append(one)
        models = self.deps.topology.models
        return {
            model: [_refusal(one, len(models[model].endpoints) - len(rests)) for one in rests]
            for model, rests in resting.items()
            if model in models
        }

    def store_down(self) -> bool:
        return self.guard.store_down

    def database_fails(self) -> str:
        return self.calls.failing

    def known(self, model: str) -> Known:
        about = self.deps.topology.models[model]
        routes = [r for r in self.deps.topology.routes.values() if any(c.model == model for c in r.candidates)]
        return Known(
            model=model,
            vendor=about.vendor,
            routes=tuple(r.name for r in routes),
            scenes=tuple(sorted({r.scene for r in routes})),
            endpoints=tuple(host_of(endpoint.base_url) for endpoint in about.endpoints),
            capabilities=tuple(sorted(about.capabilities)),
        )

    def phrase_only_routes(self) -> Sequence[str]:
        return [route.name for route in self._out() if route.speaks]

    def errors_only_routes(self) -> Sequence[str]:
        return [route.name for route in self._out() if not route.speaks]

    def _out(self) -> list[Route]:
        """The routes of which no model may answer."""
        levels = self._usable()
        return [route for route in self.deps.topology.routes.values() if phrase_only(route.candidates, levels)]

    def detector_suspect(self) -> bool:
        return self.guard.detector_suspect

    async def explain(self, model: str) -> Explanation:
        return await self.guard.explain(model)

    async def study(self, model: str) -> tuple[Explanation, Seen]:
        return await self.guard.study(model)

    async def minutes(self, model: str, first: int, last: int) -> Sequence[MinuteRow]:
        if model not in self.guard.models:
            raise KeyError(model)
        return await self.counts.minutes(model, first, last)

    async def force(self, model: str, mode: Mode, actor: str, reason: str, until: float) -> Snapshot:
        return await self.guard.force(model, mode, actor, reason, until)

    async def reset(self, model: str, actor: str, reason: str) -> Snapshot:
        """Also ends the rests of its endpoints: who says that a model is well again says that it may be asked."""
        moved = await self.guard.reset(model, actor, reason)
        self.deps.rests.lift(model, self.clock.now_s())
        return moved

    def now_s(self) -> float:
        return self.clock.now_s()


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlAudit:
    """Acts of operators, into SQL."""

    log: SqlAdminLog
    clock: Clock

    async def record(
        self, *, actor: str, action: str, target: str, reason: str, details: Mapping[str, Any], role: str = "admin"
    ) -> int:
        now_s = self.clock.now_s()
        act = Act(at=now_s, actor=actor, role=role, action=action, target=target, reason=reason, details=details)
        return await self.log.record(act)

    async def turned_away(self, number: int, status: int) -> None:
        await self.log.turned_away(number, status)

    async def acts(
        self, *, actor: str = "", action: str = "", target: str = "", before: float | None = None, limit: int = 100
    ) -> Sequence[Act]:
        return await self.log.search(actor=actor, action=action, target=target, before=before, limit=limit)


def _refusal(one: Resting, others: int) -> Refusal:
    return Refusal(
        endpoint=one.endpoint,
        status=one.status,
        waits=one.reason is RestReason.RATE_LIMITED,
        told_at=one.since,
        again_at=one.until,
        others=others,
    )


def host_of(url: str) -> str:
    """Host and port of a URL: the rest may hold a key."""
    parts = urlsplit(url)
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    return (parts.hostname or "") + port


_fleet: type[Yard] = GuardedFleet
_audit: type[AuditTrail] = SqlAudit

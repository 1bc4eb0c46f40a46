"""What the console's ports need, over the guard and the store: where models stand, and a record of each act."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from base.clock import Clock
from breaker.explain import Explanation
from breaker.guard import Guard
from breaker.levels import Mode
from breaker.share import shares
from breaker.snapshot import Snapshot
from console.ports import Audit, Fleet, Share
from router.journey import Deps
from store.sql_admin import AdminAction, SqlAdminLog


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedFleet:
    """The fleet as this process knows it."""

    guard: Guard
    deps: Deps
    clock: Clock

    @property
    def models(self) -> Sequence[str]:
        return self.guard.models

    def snapshot(self, model: str) -> Snapshot:
        return self.guard.snapshot(model)

    def shares(self, model: str) -> Sequence[Share]:
        levels, out = self.guard.levels(), []
        for route in self.deps.topology.routes.values():
            if any(candidate.model == model for candidate in route.candidates):
                configured = shares(route.candidates, {})[model]
                effective = self.deps.shares(route.candidates, levels)[model]
                out.append(Share(route=route.name, configured=configured, effective=effective))
        return out

    def store_down(self) -> bool:
        return self.guard.store_down

    async def explain(self, model: str) -> Explanation:
        return await self.guard.explain(model)

    async def force(self, model: str, mode: Mode, actor: str, reason: str, until: float) -> Snapshot:
        return await self.guard.force(model, mode, actor, reason, until)

    async def reset(self, model: str, actor: str, reason: str) -> Snapshot:
        return await self.guard.reset(model, actor, reason)

    def now_s(self) -> float:
        return self.clock.now_s()


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlAudit:
    """Acts of operators, into SQL."""

    log: SqlAdminLog
    clock: Clock

    async def record(
        self, *, actor: str, action: str, target: str, reason: str, details: Mapping[str, Any], role: str = "admin"
    ) -> None:
        now_s = self.clock.now_s()
        act = AdminAction(
            at=now_s, actor=actor, role=role, action=action, target=target, reason=reason, details=details
        )
        await self.log.record(act)


_fleet: type[Fleet] = GuardedFleet
_audit: type[Audit] = SqlAudit

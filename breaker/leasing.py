"""Keeps a few permits of each recovering model at hand, and brings back what became of them.

In:  the fleet's budget (a ProbeStore).  Out: a pool that a request takes from without waiting.
Source: BREAKER.md, Coming back: at most 2 at a time, unused ones go back, a dead process's expire.
"""

from collections.abc import Mapping

from breaker.levels import Level
from breaker.permits import PermitPool
from breaker.policy import BreakerPolicy
from breaker.ports import ProbeStore
from breaker.snapshot import Snapshot

POOL_ENDS_AT = 0.9
"""Ours ends a little before the store's lease, so that no permit is used twice."""


class PermitLeases:
    """One per process; both methods raise StoreUnavailable."""

    def __init__(self, probes: ProbeStore) -> None:
        self._probes = probes
        self.pool = PermitPool()

    async def lease(self, snapshots: Mapping[str, Snapshot], policy: BreakerPolicy, now_s: float) -> None:
        """Hold at most `probe_lease` unused permits per recovering model."""
        for model, here in snapshots.items():
            if here.effective is not Level.RECOVERING:
                continue
            want = policy.probe_lease - self.pool.unused(model, here.epoch, now_s)
            if want <= 0:
                continue
            lease_s = policy.probe_lease_s
            granted = await self._probes.lease(model, here.epoch, want, policy.probe_budget, lease_s)
            self.pool.add(model, here.epoch, granted, now_s + POOL_ENDS_AT * lease_s)

    async def settle(self) -> None:
        """Write results and give-backs, oldest first; what the store refuses waits."""
        returned = self.pool.returned
        while returned:
            back = returned[0]
            if back.clean is None:
                await self._probes.give_back(back.model, back.epoch, 1)
            else:
                await self._probes.settle(back.model, back.epoch, back.clean)
            returned.popleft()

"""One leader per fleet: a lease that is renewed while it is held, and a fence that grows at each take-over.

In:  beats.  Out: whether this process leads now, and under which fence.
Source of the times: BREAKER.md, Redis, Leader: 30 s, renewed every 10 s, stop before the lease ends.
"""

import logging

from base.clock import Clock
from breaker.ports import Lease, StoreUnavailable

log = logging.getLogger(__name__)
NAME = "monitor-leader"
LEASE_S = 30.0
RENEW_S = 10.0
STOP_S = 5.0


class Leader:
    """`beat` at least every RENEW_S. `fence` is None while another process leads, or nobody knows."""

    def __init__(self, lease: Lease, owner: str, clock: Clock) -> None:
        self._lease, self._owner, self._clock = lease, owner, clock
        self._good_until = float("-inf")
        self.fence: int | None = None

    async def beat(self) -> int | None:
        """Take or renew the lease; the fence under which this process may act until the next beat."""
        asked_at = self._clock.monotonic_s()
        try:
            fence = await self._lease.hold(NAME, self._owner, LEASE_S)
        except StoreUnavailable:
            # The store may keep the lease for another soon; whoever cannot ask stops before it ends.
            fence = self.fence if self._clock.monotonic_s() < self._good_until else None
        else:
            self._good_until = asked_at + LEASE_S - STOP_S if fence is not None else float("-inf")
        if fence != self.fence:
            log.info("clock jobs: %s", "led by another process" if fence is None else f"led here, fence {fence}")
        self.fence = fence
        return fence

    def wait_s(self) -> float:
        """How long until the next beat: sooner, if the lease would end before it could be renewed."""
        if self.fence is None:
            return RENEW_S
        return max(0.1, min(RENEW_S, self._good_until - self._clock.monotonic_s()))

    async def resign(self) -> None:
        """Leave the lease to whoever comes. Raises StoreUnavailable; then it ends by itself."""
        held, self.fence = self.fence is not None, None
        if held:
            await self._lease.release(NAME, self._owner)

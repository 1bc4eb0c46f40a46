"""The breaker as the request path knows it: levels from memory, counts into memory, everything else behind it.

In:  attempts that ended.  Out: snapshots, levels, permits.  Nothing on the request path awaits a store.
Background: flush counts, poll documents, evaluate under a moving lease, lease permits.
Posture when a store is gone: the last document stays in force, counts stay here, levels may rise locally (never fall).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from base.faults import Fault
from breaker.evaluating import LEASE_NAME, Evaluating
from breaker.levels import Level, Mode
from breaker.machine import force, reset
from breaker.outcome import Outcome
from breaker.permits import Permit
from breaker.ports import StoreUnavailable
from breaker.recovery import is_hard
from breaker.snapshot import Snapshot
from detector.verdict import Verdict

log = logging.getLogger(__name__)

ADMIN_TRIES = 5
LEAST_REAL_S = 0.05
NUDGE_GAP_S = 0.1
"""Real seconds between two looks by a nudge: a thousand models that move at once are a few looks, not a thousand."""


class Guard(Evaluating):
    """One per process. Build it inside the event loop's thread; `run` keeps it fresh until cancelled."""

    # -- the request path: synchronous, from memory ---------------------------------------------------------------

    def note(
        self,
        *,
        model: str,
        scene: str,
        endpoint: int | str,
        outcome: Outcome,
        fault: Fault | None = None,
        verdict: Verdict | None = None,
        stream: bool = False,
        session: str = "",
        tokens_in: int = 0,
        tokens_out: int = 0,
        elapsed_s: float = 0.0,
        suppressed_chars: int = 0,
        hard_stop: bool = False,
        arm: str = "",
        structured: bool = False,
        repaired: bool = False,
        unreadable: bool = False,
    ) -> None:
        """Count one attempt that just ended; a few microseconds, no waiting."""
        self.counters.note(
            model=model,
            scene=scene,
            endpoint=endpoint,
            outcome=outcome,
            fault=fault,
            verdict=verdict,
            stream=stream,
            session=session,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            elapsed_s=elapsed_s,
            suppressed_chars=suppressed_chars,
            hard_stop=hard_stop,
            now_s=self._server_now(),
            arm=arm,
            structured=structured,
            repaired=repaired,
            unreadable=unreadable,
        )

    @contextmanager
    def permit(self, model: str, *, live: bool = False, shadow: bool = False) -> Iterator[Permit | None]:
        """A permit for one probe of a RECOVERING model, or None. Settle it with `.settle(clean)`; else it is given back.

        `shadow`: for a copy of a request; `live`: for a client's own, the last resort. They get none in the first minute
        or two of a recovery from repeats, while the monitor is alive and sends its suite prompts.
        """
        here, now_s = self._snapshots[model], self._server_now()
        after_s = self.policy.live_probe_after_s if live else self.policy.shadow_probe_after_s if shadow else 0.0
        if here.effective is not Level.RECOVERING or (after_s and not self._may_probe(here, now_s, after_s)):
            yield None
            return
        with self.pool.take(model, here.epoch, now_s) as permit:
            yield permit

    def monitor_beat(self) -> None:
        """The monitor lives: leave it the first permits."""
        self.monitor_seen_at = self._server_now()

    def _may_probe(self, here: Snapshot, now_s: float, after_s: float) -> bool:
        unseen_s = now_s - self.monitor_seen_at
        return is_hard(here.cause) or unseen_s > self.policy.live_probe_after_s or now_s - here.since > after_s

    @property
    def resyncs(self) -> int:
        """How often all kept counts were written anew, because the store may have lost some."""
        return self._flusher.resyncs

    # -- the background -------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep counts, documents and permits fresh until cancelled; then write what is left."""
        policy = self.policy
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._every(policy.flush_s, self.flush))
                tasks.create_task(self._every(policy.poll_s, self.poll))
                tasks.create_task(self._obey_nudges())
                tasks.create_task(self._every(policy.fast_s, self.evaluate))
                tasks.create_task(self._every(policy.poll_s, self.lease_permits))
        finally:
            self.pool.give_back_all()

    async def close(self) -> None:
        """Write the last counts and give the lease and unused permits back; what the store refuses is lost with it."""
        self.pool.give_back_all()
        try:
            await self.flush()
            await self.settle_permits()
            await self._lease.release(LEASE_NAME, self._boot_id)
        except StoreUnavailable:
            self._fell_silent()

    async def _every(self, period_s: float, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._safely(step)
            # Under compressed time a period may shrink to nothing; the loop must not then eat the processor.
            await self._clock.sleep(max(period_s, LEAST_REAL_S / self._clock.real_s(1.0)))

    async def _safely(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await self.attempt(step)
        except Exception:
            # A step that fails once must not end the loop: without it the breaker would stand still for good.
            log.exception("breaker step %s failed", getattr(step, "__name__", step))

    async def attempt(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do one of the background steps; while the store is gone, evaluating falls back on this process's counts."""
        try:
            await step()
        except StoreUnavailable:
            self._fell_silent()
            if step == self.evaluate:
                self.evaluate_locally()

    def nudge(self) -> None:
        """Somebody has changed a document: look soon. Losing it changes nothing, the poll sees the same."""
        self._nudged.set()

    async def _obey_nudges(self) -> None:
        while True:
            await self._nudged.wait()
            self._nudged.clear()
            await self._safely(self.poll)
            await self._clock.sleep(NUDGE_GAP_S / self._clock.real_s(1.0))

    async def flush(self) -> None:
        """Write the changed rows. Raises StoreUnavailable; the rows then come again with the next flush."""
        await self._flusher.flush(self._server_now())

    async def lease_permits(self) -> None:
        """Settle what came back, and hold at most two unused permits per recovering model. Raises StoreUnavailable."""
        await self._leases.settle()
        await self._leases.lease(self._snapshots, self.policy, self._server_now())

    async def settle_permits(self) -> None:
        """Write results and give-backs, oldest first. Raises StoreUnavailable; the rest then waits."""
        await self._leases.settle()

    # -- operators ------------------------------------------------------------------------------------------------

    async def force(self, model: str, mode: Mode, actor: str, reason: str, until: float = 0.0) -> Snapshot:
        """Set a mode. Raises RefusedMove, StoreUnavailable, KeyError for an unknown model."""
        now_s = self._server_now()
        return await self._change(model, lambda here: force(here, mode, actor, reason, until, now_s, self.policy))

    async def reset(self, model: str, actor: str, reason: str) -> Snapshot:
        """Back to HEALTHY with empty windows. Raises RefusedMove, StoreUnavailable, KeyError for an unknown model."""
        now_s = self._server_now()
        return await self._change(model, lambda here: reset(here, actor, reason, now_s))

    async def _change(self, model: str, change: Callable[[Snapshot], Snapshot]) -> Snapshot:
        for _ in range(ADMIN_TRIES):
            kept = await self._states.load([model])
            here = kept.get(model, self._snapshots[model])
            moved = change(here)
            if moved is here or await self._write(here if model in kept else Snapshot(model=model), moved):
                self._stand(moved)
                return moved
        raise StoreUnavailable(f"{model}: {ADMIN_TRIES} writers were faster")

"""Where all models stand, as one process knows it: documents adopted, written by compare-and-set, put back when lost.

In:  the fleet's documents.  Out: snapshots and levels, from memory.
Posture when the store is gone: the last document stays in force.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from base.clock import Clock
from breaker.counting import LocalCounters
from breaker.evidence import EvidenceStore
from breaker.explain import Explanation
from breaker.fleet import FLEET, Hold, as_evidence, hold_in
from breaker.flushing import Flusher
from breaker.leasing import PermitLeases
from breaker.levels import Level
from breaker.local import LocalLevels
from breaker.policy import BreakerPolicy
from breaker.ports import CountStore, Lease, ProbeStore, StateStore, StoreUnavailable, TransitionLog
from breaker.reader import Reader
from breaker.snapshot import Snapshot, Transition

BACK_FILL_S = 3_600.0  # older rows may have been deleted on purpose


class Standing:
    """The state of one process's guard, and what keeps its documents true."""

    def __init__(
        self,
        models: Sequence[str],
        policy: BreakerPolicy,
        counts: CountStore,
        states: StateStore,
        probes: ProbeStore,
        lease: Lease,
        log: TransitionLog,
        clock: Clock,
        rng: Random,
        boot_id: str,
        server_now: Callable[[], float],
        *,
        evidence: EvidenceStore | None = None,
        on_transition: Sequence[Callable[[Transition], None]] = (),
        keep_last: Sequence[Sequence[str]] = (),
    ) -> None:
        """`keep_last`: the models of each route that says `last_model: keep_reduced`."""
        self.models, self.policy = tuple(models), policy
        self._states, self._lease, self._log, self._evidence = states, lease, log, evidence
        self._clock, self._rng, self._boot_id, self._server_now = clock, rng, boot_id, server_now
        self._snapshots = {model: Snapshot(model=model) for model in self.models}
        self._levels: Mapping[str, Level] | None = None
        self._unlogged: deque[Transition] = deque()
        self._full_at = float("-inf")
        self.counters = LocalCounters(boot_id)
        self._flusher = Flusher(counts, self.counters)
        self._reader = Reader(counts, probes, evidence, self.counters, policy)
        self._local = LocalLevels(self.counters, self._reader)
        self._keep_last = tuple(tuple(route) for route in keep_last)
        self._capped: set[tuple[str, float]] = set()
        self._hold: Hold | None = None
        self._leases = PermitLeases(probes)
        self.pool = self._leases.pool
        self.callbacks: list[Callable[[Transition], None]] = list(on_transition)
        self._silent_since: float | None = None
        self._nudged = asyncio.Event()
        self._asked_probes: dict[str, int] = {}
        self.moves: Counter[tuple[str, Level, bool]] = Counter()
        """Moves up that this replica was the one to write: by model, level, and whether they are obeyed."""
        self.open_cap_hits = 0
        """How often this replica, first of the fleet, found a model kept in service by `max_open_ratio`."""
        self.monitor_seen_at = float("-inf")
        self.explanations: dict[str, Explanation] = {}
        """By model, as of this replica's last full evaluation: for gauges; empty while another replica evaluates."""

    def adopt(self, models: Sequence[str], policy: BreakerPolicy, keep_last: Sequence[Sequence[str]] = ()) -> None:
        """Go on with other models and rules, in one step. Who stays keeps where it stands; periods hold from a restart."""
        self.models, self.policy = tuple(models), policy
        self._keep_last = tuple(tuple(route) for route in keep_last)
        self._snapshots = {model: self._snapshots.get(model, Snapshot(model=model)) for model in self.models}
        self._levels = None
        self.explanations = {model: told for model, told in self.explanations.items() if model in self._snapshots}
        self._reader.adopt(policy)

    def snapshot(self, model: str) -> Snapshot:
        """The document in force; a model nobody wrote about is HEALTHY. Raises KeyError for an unknown model."""
        return self._snapshots[model]

    def shed_at(self, model: str) -> float:
        """When the model last gave up load that others must take (server time); 0.0: never, as far as is known."""
        here = self._snapshots.get(model)
        return here.shed_at if here is not None else 0.0

    def levels(self) -> Mapping[str, Level]:
        """What routing obeys: the effective level of each model, or a higher one decided here while the store is gone."""
        now_s = self._server_now()
        if self._local.raised(now_s):
            return self._local.effective(self._snapshots, now_s)
        if self._levels is None:
            # Kept until a document changes: each request asks, and a fleet may have a thousand models.
            self._levels = self._local.effective(self._snapshots, now_s)
        return self._levels

    @property
    def store_down(self) -> bool:
        """The store did not answer the last time it was asked."""
        return self._silent_since is not None

    def _stand(self, snapshot: Snapshot) -> None:
        self._snapshots[snapshot.model] = snapshot
        self._levels = None

    def _standing(self) -> Iterator[str]:
        """The models, one by one; one that a reload takes away in between is left out."""
        return (model for model in self.models if model in self._snapshots)

    def _fell_silent(self) -> None:
        if self._silent_since is None:
            self._silent_since = self._server_now()

    async def poll(self) -> None:
        """Adopt newer documents; put back those the store has lost."""
        kept = await self._states.load(self.models)
        await self._poll_hold()
        if self._silent_since is not None:
            self._silent_since = None
            self._local.store_is_back(self.policy, self._server_now())
            self._flusher.distrust()  # it may have come back empty, or as a replica that lacks the last writes
        for model in self._standing():
            here, found = self._snapshots[model], kept.get(model)
            if found is not None and found.epoch >= here.epoch:
                if found is not here and found != here:
                    self._stand(found)
                if found.epoch > here.epoch:
                    self._local.forget(model)  # the fleet has decided since, an operator perhaps
                self._back_fill(here, found)
            elif here.epoch > (found.epoch if found else 0):
                # Flushed, evicted or restored from old data: what we last knew is truer than HEALTHY.
                await self._states.compare_and_set(here, found.epoch if found else 0)

    async def _poll_hold(self) -> None:
        if self._evidence is None:
            return
        found, ours = hold_in(await self._evidence.evidence(FLEET)), self._hold
        if found is None and ours is not None and self._server_now() < ours.until:
            await self._evidence.add(as_evidence(ours, self.policy))  # the store has lost it
        elif found is not None:
            self._hold = found

    def _back_fill(self, here: Snapshot, found: Snapshot) -> None:
        """Log the moves of others too: their winner may have died before it did. The log keeps each only once."""
        recent_s = self._server_now() - BACK_FILL_S
        self._unlogged.extend(t for t in found.transitions if t.epoch > here.epoch and t.at > recent_s)

    async def _write(self, here: Snapshot, moved: Snapshot) -> bool:
        if not await self._states.compare_and_set(moved, here.epoch):
            return False  # another replica was first; the next poll brings its document
        self._stand(moved)
        self._local.forget(moved.model)
        if moved.transitions and moved.transitions[-1].epoch == moved.epoch:
            self._count_move(moved.transitions[-1])
            self._unlogged.append(moved.transitions[-1])
            for tell in self.callbacks:
                tell(moved.transitions[-1])
            await self._log_missed()
        return True

    def _count_move(self, told: Transition) -> None:
        if told.to_level.severity > told.from_level.severity and told.to_level is not Level.RECOVERING:
            self.moves[told.model, told.to_level, told.enforced] += 1

    async def _log_missed(self) -> None:
        while self._unlogged:
            # Taken off first: an operator's order may log at the same time.
            transition = self._unlogged.popleft()
            try:
                await self._log.append(transition)
            except (StoreUnavailable, asyncio.CancelledError) as error:
                self._unlogged.appendleft(transition)  # tried again each tick; the document's last 20 carry it too
                if isinstance(error, StoreUnavailable):
                    return
                raise

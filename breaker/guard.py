"""The breaker as the request path knows it: levels from memory, counts into memory, everything else behind it.

In:  attempts that ended.  Out: snapshots, levels, permits.  Nothing on the request path awaits a store.
Background: flush counts, poll documents, evaluate under a moving lease, lease permits.
Posture when a store is gone: the last document stays in force, counts stay here, levels may rise locally (never fall).
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random

from base.clock import Clock
from base.faults import Fault
from breaker.conditions import Condition, conditions
from breaker.counting import LocalCounters
from breaker.evidence import PROBES_ASKED_EVERY_S, EvidenceKind, EvidenceStore, probes_asked
from breaker.explain import Explanation, explain
from breaker.fleet import FLEET, Hold, Move, allowed, as_evidence, begun_hold, cap_evidence, hold_in
from breaker.flushing import Flusher
from breaker.leasing import PermitLeases
from breaker.levels import Level, Mode
from breaker.local import LocalLevels
from breaker.machine import force, next_snapshot, reset
from breaker.outcome import Outcome
from breaker.permits import Permit
from breaker.policy import BreakerPolicy
from breaker.ports import CountStore, Lease, ProbeStore, StateStore, StoreUnavailable, TransitionLog
from breaker.quiet import is_quiet
from breaker.reader import Reader
from breaker.recovery import is_hard
from breaker.seen import Seen
from breaker.share import RouteCandidate
from breaker.snapshot import Snapshot, Transition
from detector.verdict import Verdict

log = logging.getLogger(__name__)

LEASE_NAME = "breaker-evaluate"
ADMIN_TRIES = 5
LEAST_REAL_S = 0.05
NUDGE_GAP_S = 0.1
"""Real seconds between two looks by a nudge: a thousand models that move at once are a few looks, not a thousand."""
FAST_AT_ONCE = 50
FULL_AT_ONCE = 10
"""Models read and judged together: a few milliseconds, then the event loop is free for requests again."""
BACK_FILL_S = 3_600.0  # older rows may have been deleted on purpose


class Guard:
    """One per process. Build it inside the event loop's thread; `run` keeps it fresh until cancelled."""

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

    # -- the request path: synchronous, from memory ---------------------------------------------------------------

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

    def _stand(self, snapshot: Snapshot) -> None:
        self._snapshots[snapshot.model] = snapshot
        self._levels = None

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

    @property
    def detector_suspect(self) -> bool:
        """Moves by ratio are held, because all models breached at once."""
        return self._hold is not None and self._server_now() < self._hold.until

    @property
    def resyncs(self) -> int:
        """How often all kept counts were written anew, because the store may have lost some."""
        return self._flusher.resyncs

    @property
    def store_down(self) -> bool:
        """The store did not answer the last time it was asked."""
        return self._silent_since is not None

    def conditions(self, routes: Mapping[str, Sequence[RouteCandidate]]) -> tuple[Condition, ...]:
        """What holds now and must be told to people: see breaker/conditions.py."""
        now_s = self._server_now()
        return conditions(self._snapshots, self.levels(), routes, self._hold, self._silent_since, now_s)

    def monitor_beat(self) -> None:
        """The monitor lives: leave it the first permits."""
        self.monitor_seen_at = self._server_now()

    def _may_probe(self, here: Snapshot, now_s: float, after_s: float) -> bool:
        unseen_s = now_s - self.monitor_seen_at
        return is_hard(here.cause) or unseen_s > self.policy.live_probe_after_s or now_s - here.since > after_s

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
            try:
                await self.attempt(step)
            except Exception:
                # A step that fails once must not end the loop: without it the breaker would stand still for good.
                log.exception("breaker step %s failed", getattr(step, "__name__", step))
            # Under compressed time a period may shrink to nothing; the loop must not then eat the processor.
            await self._clock.sleep(max(period_s, LEAST_REAL_S / self._clock.real_s(1.0)))

    async def attempt(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do one of the background steps; while the store is gone, evaluating falls back on this process's counts."""
        try:
            await step()
        except StoreUnavailable:
            self._fell_silent()
            if step == self.evaluate:
                self.evaluate_locally()

    def _fell_silent(self) -> None:
        if self._silent_since is None:
            self._silent_since = self._server_now()

    def nudge(self) -> None:
        """Somebody has changed a document: look soon. Losing it changes nothing, the poll sees the same."""
        self._nudged.set()

    async def _obey_nudges(self) -> None:
        while True:
            await self._nudged.wait()
            self._nudged.clear()
            await self.attempt(self.poll)
            await self._clock.sleep(NUDGE_GAP_S / self._clock.real_s(1.0))

    async def flush(self) -> None:
        """Write the changed rows. Raises StoreUnavailable; the rows then come again with the next flush."""
        await self._flusher.flush(self._server_now())

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

    def _standing(self) -> Iterator[str]:
        """The models, one by one; one that a reload takes away in between is left out."""
        return (model for model in self.models if model in self._snapshots)

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

    async def evaluate(self) -> None:
        """One tick: whoever holds the lease reads the counts and moves the documents. Raises StoreUnavailable."""
        await self._log_missed()
        fence = await self._lease.hold(LEASE_NAME, self._boot_id, self.policy.lease_s)
        if fence is None:
            self.explanations.clear()  # another replica knows better
            await self._propose_streaks()
            return
        await self.poll()
        now_s = self._server_now()
        full = now_s - self._full_at >= self.policy.full_s and await self._reader.prepare(self.models, now_s)
        proposed: list[Move] = []
        at_once = FULL_AT_ONCE if full else FAST_AT_ONCE
        for start in range(0, len(self.models), at_once):
            some = self.models[start : start + at_once]
            proposed += await self._proposals([m for m in some if m in self._snapshots], now_s, full=full)
        # All are read before the first is moved: whether the detector is suspect is a question about all of them.
        await self._suspect(proposed, now_s)
        for here, moved in proposed:
            await self._move(here, moved, now_s, fence)
        if full:
            self._full_at = now_s

    async def _suspect(self, proposed: Sequence[Move], now_s: float) -> None:
        begun = begun_hold(self._snapshots, proposed, self._hold, self.policy, now_s)
        if begun is None:
            return
        self._hold = begun
        log.warning("detector suspect: %d models breached at once; moves by ratio are held", begun.models)
        if self._evidence is not None:
            await self._evidence.add(as_evidence(begun, self.policy))

    async def _proposals(self, models: Sequence[str], now_s: float, *, full: bool) -> list[Move]:
        """Where these models ask to go. Each question to the store leaves the event loop to others."""
        proposed: list[Move] = []
        read = await self._reader.read_of([self._snapshots[model] for model in models], now_s, full=full)
        for model, seen in read.items():
            here, jitter = self._snapshots.get(model), self._rng.uniform(-1.0, 1.0)
            if here is None:
                continue  # a reload took it away meanwhile
            if full:
                self.explanations[model] = told = explain(here, seen, self.policy, now_s)
                if told.probes_wanted and told.unknown and here.mode is Mode.AUTO:
                    await self._ask_for_probes(here, now_s)
            if is_quiet(here, seen):
                continue
            moved = next_snapshot(here, seen, self.policy, now_s, jitter)
            if moved is not here:
                proposed.append((here, moved))
        return proposed

    async def _ask_for_probes(self, here: Snapshot, now_s: float) -> None:
        slot = int(now_s // PROBES_ASKED_EVERY_S)
        if self._evidence is None or here.level is Level.RECOVERING or self._asked_probes.get(here.model) == slot:
            return
        self._asked_probes[here.model] = slot
        await self._evidence.add(probes_asked(here.model, slot, now_s))

    async def probes_wanted(self) -> Collection[str]:
        """Models that look ill on too few replies, as the evaluator found. Raises StoreUnavailable."""
        if self._evidence is None:
            return ()
        found = await self._evidence.evidence_of(self.models)
        return [m for m, records in found.items() if any(r.kind is EvidenceKind.PROBES_WANTED for r in records)]

    async def _read(self, model: str, now_s: float, *, full: bool) -> Seen:
        return await self._reader.read(self._snapshots[model], now_s, full=full)

    async def _propose_streaks(self) -> None:
        """A replica without the lease still proposes what only it can see: its own row of hard failures."""
        now_s = self._server_now()
        for model in self._standing():
            here = self._snapshots[model]
            if evidence := self._reader.streak(here, now_s):
                seen = Seen(evidence=evidence)
                moved = next_snapshot(here, seen, self.policy, now_s, self._rng.uniform(-1.0, 1.0))
                if moved is not here:
                    await self._move(here, moved, now_s, here.fence)

    async def _move(self, here: Snapshot, moved: Snapshot, now_s: float, fence: int) -> None:
        verdict = allowed(self._snapshots, here, moved, self._hold, self._keep_last, self.policy, now_s)
        if verdict.capped:
            await self._count_cap(here, now_s)
        if verdict.move is not None:
            await self._write(here, replace(verdict.move, fence=max(here.fence, fence)))

    async def _count_cap(self, here: Snapshot, now_s: float) -> None:
        if (here.model, here.watermark) in self._capped:
            return
        self._capped.add((here.model, here.watermark))
        if self._evidence is None or await self._evidence.add(cap_evidence(here, now_s)):
            self.open_cap_hits += 1

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

    def evaluate_locally(self) -> None:
        """While the store is gone: raise levels by this replica's own counts, for 15 minutes; never lower one."""
        self._local.evaluate(self._snapshots, self._hold, self.policy, self._server_now())

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

    async def explain(self, model: str) -> Explanation:
        """Each rule with its numbers, and what the next change waits for. Raises StoreUnavailable, KeyError."""
        return (await self.study(model))[0]

    async def study(self, model: str) -> tuple[Explanation, Seen]:
        """The explanation, and the counts it was read off. Raises StoreUnavailable, KeyError."""
        now_s = self._server_now()
        seen = await self._read(model, now_s, full=True)
        return explain(self._snapshots[model], seen, self.policy, now_s), seen

"""The breaker's ports kept in this process: for tests, for one replica alone, and while Redis is away.

Same rules as the Redis stores; tests/contract/ runs one suite over both.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from base.clock import Clock
from breaker.evidence import Evidence, EvidenceStore
from breaker.gray import GrayRelease
from breaker.gray_board import GrayStore
from breaker.ports import CountStore, Lease, ProbeStore, ProbeTally, StateStore, TransitionLog
from breaker.snapshot import Snapshot, Transition
from breaker.window import FAST_BUCKET_S, MINUTE_S, FastRow, MinuteRow
from monitor.jobs import JobRun, RunState
from monitor.ports import JobSlots
from store.merge import FAST_KEPT_S, KEPT_S, acceptable, merge_fast, merge_minutes


class MemoryCounts:
    """Rows by their key and writer; what is too old goes at the next flush."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._minutes: dict[tuple[str, int], dict[tuple[str, str], MinuteRow]] = {}
        self._fast: dict[tuple[str, int], dict[str, FastRow]] = {}
        self._writers: dict[str, set[str]] = {}
        self.refused = 0

    async def flush(self, boot_id: str, minutes: Sequence[MinuteRow], fast: Sequence[FastRow]) -> Set[str]:
        now_s, models = self._clock.now_s(), set[str]()
        self._forget(now_s)
        for row in minutes:
            if acceptable(row.minute * MINUTE_S, now_s):
                self._minutes.setdefault((row.model, row.minute), {})[boot_id, row.scope] = row
                models.add(row.model)
            else:
                self.refused += 1
        for bucket in fast:
            if acceptable(bucket.bucket * FAST_BUCKET_S, now_s, FAST_KEPT_S):
                self._fast.setdefault((bucket.model, bucket.bucket), {})[boot_id] = bucket
                models.add(bucket.model)
        new = {model for model in models if boot_id not in self._writers.get(model, ())}
        for model in new:
            self._writers.setdefault(model, set()).add(boot_id)
        return new

    async def minutes(self, model: str, first: int, last: int) -> Sequence[MinuteRow]:
        # By key, not by looking through all: a fleet has a thousand models, a window 130 minutes.
        kept = (self._minutes.get((model, minute), {}).values() for minute in range(first, last + 1))
        return merge_minutes(row for rows in kept for row in rows)

    async def fast(self, model: str, first: int, last: int) -> Sequence[FastRow]:
        kept = (self._fast.get((model, bucket), {}).values() for bucket in range(first, last + 1))
        return merge_fast(row for rows in kept for row in rows)

    async def minutes_of(
        self, models: Sequence[str], first: int, last: int, *, scope: str | None = None
    ) -> Mapping[str, Sequence[MinuteRow]]:
        read = {model: await self.minutes(model, first, last) for model in models}
        return {model: [row for row in rows if scope in (None, row.scope)] for model, rows in read.items()}

    async def fast_of(self, models: Sequence[str], first: int, last: int) -> Mapping[str, Sequence[FastRow]]:
        return {model: await self.fast(model, first, last) for model in models}

    def forget_all(self) -> None:
        """As a store that was restarted empty."""
        self._minutes.clear()
        self._fast.clear()
        self._writers.clear()

    def _forget(self, now_s: float) -> None:
        for key in [k for k in self._minutes if k[1] * MINUTE_S < now_s - KEPT_S]:
            del self._minutes[key]
        for key in [k for k in self._fast if k[1] * FAST_BUCKET_S < now_s - FAST_KEPT_S]:
            del self._fast[key]


class MemoryStates:
    """State documents by model."""

    def __init__(self) -> None:
        self._kept: dict[str, Snapshot] = {}

    async def load(self, models: Sequence[str]) -> Mapping[str, Snapshot]:
        return {model: self._kept[model] for model in models if model in self._kept}

    async def compare_and_set(self, snapshot: Snapshot, expected_epoch: int) -> bool:
        kept = self._kept.get(snapshot.model)
        if (kept.epoch if kept else 0) != expected_epoch or (kept and snapshot.fence < kept.fence):
            return False
        self._kept[snapshot.model] = snapshot
        return True


class MemoryGray:
    """Gray releases by model."""

    def __init__(self) -> None:
        self._kept: dict[str, GrayRelease] = {}

    async def load(self, models: Sequence[str]) -> Mapping[str, GrayRelease]:
        return {model: self._kept[model] for model in models if model in self._kept}

    async def compare_and_set(self, release: GrayRelease, expected_epoch: int) -> bool:
        kept = self._kept.get(release.model)
        if (kept.epoch if kept else 0) != expected_epoch or (kept and release.fence < kept.fence):
            return False
        self._kept[release.model] = release
        return True


class _Budget:
    """Permits of one model under one epoch: results so far, and when each lease that is out runs out."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.results: list[bool] = []
        self.leases: list[float] = []

    def expire(self, now_s: float) -> None:
        self.leases = sorted(until for until in self.leases if until > now_s)


class MemoryProbes:
    """The budget of permits by model."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[str, _Budget] = {}

    async def lease(self, model: str, epoch: int, want: int, budget: int, lease_s: float) -> int:
        now_s = self._clock.now_s()
        kept = self._kept.get(model)
        if kept is None or kept.epoch < epoch:
            kept = self._kept[model] = _Budget(epoch)
        if kept.epoch > epoch:
            return 0
        kept.expire(now_s)
        grant = max(0, min(want, budget - len(kept.results) - len(kept.leases)))
        kept.leases.extend([now_s + lease_s] * grant)
        return grant

    async def give_back(self, model: str, epoch: int, count: int) -> None:
        if kept := self._of(model, epoch):
            kept.leases = kept.leases[count:]

    async def settle(self, model: str, epoch: int, clean: bool) -> None:
        if kept := self._of(model, epoch):
            kept.results.append(clean)
            kept.leases = kept.leases[1:]

    async def tally(self, model: str, epoch: int) -> ProbeTally:
        if kept := self._of(model, epoch):
            return ProbeTally(epoch=epoch, granted=len(kept.results) + len(kept.leases), results=tuple(kept.results))
        return ProbeTally(epoch=epoch, granted=0)

    def _of(self, model: str, epoch: int) -> _Budget | None:
        kept = self._kept.get(model)
        if kept is None or kept.epoch != epoch:
            return None
        kept.expire(self._clock.now_s())
        return kept


class MemoryJobs:
    """Job slots of one process; what store/sql_jobs.py keeps in a table."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], JobRun] = {}

    async def claim(self, job: str, slot: str, owner: str, fence: int, now: float, *, due_at: float) -> int | None:
        kept = self._kept.get((job, slot))
        if kept is not None and not _may_claim(kept, now, fence):
            return None
        tries = kept.tries + 1 if kept else 1
        self._kept[job, slot] = JobRun(
            job=job, slot=slot, due_at=due_at, owner=owner, fence=fence, state=RunState.RUNNING, tries=tries,
            detail="", started_at=now,
        )  # fmt: skip
        return tries

    async def finish(
        self, job: str, slot: str, fence: int, now: float, *, error: str = "", retry_at: float | None = None
    ) -> bool:
        kept = self._kept.get((job, slot))
        if kept is None or (kept.fence, kept.state) != (fence, RunState.RUNNING):
            return False
        state = RunState.FAILED if error else RunState.DONE
        self._kept[job, slot] = replace(kept, state=state, detail=error, ended_at=now, retry_at=retry_at)
        return True

    async def note(self, job: str, slot: str, state: RunState, now: float, *, due_at: float, detail: str = "") -> bool:
        if (job, slot) in self._kept:
            return False
        self._kept[job, slot] = JobRun(
            job=job, slot=slot, due_at=due_at, owner="", fence=0, state=state, tries=0, detail=detail, started_at=now
        )
        return True

    async def newest(self, jobs: Sequence[str], now: float) -> Mapping[str, float]:
        out: dict[str, float] = {}
        for run in self._kept.values():
            if run.job in jobs and not run.slot.startswith("hand-") and run.due_at <= now + 3_600.0:
                out[run.job] = max(run.due_at, out.get(run.job, 0.0))
        return out

    async def open(self, now: float, fence: int) -> Sequence[JobRun]:
        return sorted((run for run in self._kept.values() if _may_claim(run, now, fence)), key=lambda run: run.due_at)

    async def last(self, job: str | None = None, limit: int = 50) -> Sequence[JobRun]:
        runs = [run for run in self._kept.values() if job in (None, run.job)]
        return sorted(runs, key=lambda run: -run.started_at)[:limit]


def _may_claim(run: JobRun, now: float, fence: int) -> bool:
    again = run.state is RunState.FAILED and run.retry_at is not None and run.retry_at <= now
    return again or run.state is RunState.ASKED or (run.state is RunState.RUNNING and run.fence < fence)


class MemoryLease:
    """Who holds which name until when. Shared by the holders of one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[str, tuple[str, float, int]] = {}

    async def hold(self, name: str, owner: str, ttl_s: float) -> int | None:
        now_s = self._clock.now_s()
        holder, until, fence = self._held.get(name, ("", 0.0, 0))
        alive = holder != "" and until > now_s
        if alive and holder != owner:
            return None
        if not alive:
            # From the time, so that fences still grow after the store was flushed.
            fence = max(fence + 1, int(now_s))
        self._held[name] = (owner, now_s + ttl_s, fence)
        return fence

    async def release(self, name: str, owner: str) -> None:
        holder, _, fence = self._held.get(name, ("", 0.0, 0))
        if holder == owner:
            self._held[name] = ("", 0.0, fence)

    async def held(self, name: str) -> bool:
        """Whether anybody holds it now: the monitor's heartbeat."""
        holder, until, _ = self._held.get(name, ("", 0.0, 0))
        return holder != "" and until > self._clock.now_s()


class MemoryTransitions:
    """Transitions in the order they came."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], Transition] = {}

    @property
    def rows(self) -> list[Transition]:
        return list(self._kept.values())

    async def append(self, transition: Transition) -> bool:
        key = (transition.model, transition.epoch)
        if key in self._kept:
            return False
        self._kept[key] = transition
        return True


class MemoryEvidence:
    """Evidence by model and id; the first record of an id stands."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[tuple[str, str], Evidence] = {}

    async def add(self, evidence: Evidence) -> bool:
        return self._kept.setdefault((evidence.model, evidence.id), evidence) is evidence

    async def evidence(self, model: str) -> Sequence[Evidence]:
        now_s = self._clock.now_s()
        self._kept = {key: it for key, it in self._kept.items() if it.valid_until > now_s}
        return sorted((it for it in self._kept.values() if it.model == model), key=lambda it: (it.found_at, it.id))

    async def evidence_of(self, models: Sequence[str]) -> Mapping[str, Sequence[Evidence]]:
        return {model: await self.evidence(model) for model in models}


_counts: type[CountStore] = MemoryCounts
_states: type[StateStore] = MemoryStates
_probes: type[ProbeStore] = MemoryProbes
_lease: type[Lease] = MemoryLease
_transitions: type[TransitionLog] = MemoryTransitions
_evidence: type[EvidenceStore] = MemoryEvidence
_slots: type[JobSlots] = MemoryJobs
_gray: type[GrayStore] = MemoryGray

"""Reads what a decision about a model needs, and no more than that; of many models in few questions.

In:  the ports and this process's own counters.  Out: Seen.  Raises StoreUnavailable where a store does.
"""

from collections.abc import Mapping, Sequence

from breaker.counting import LocalCounters
from breaker.evidence import Evidence, EvidenceKind, EvidenceStore
from breaker.history import MinuteHistory
from breaker.levels import Level
from breaker.policy import BreakerPolicy
from breaker.ports import CountStore, ProbeStore, ProbeTally
from breaker.recent import RecentBuckets
from breaker.seen import Seen, last_complete_minute
from breaker.snapshot import Snapshot
from breaker.window import FAST_BUCKET_S, MinuteRow


class Reader:
    """Fast rules need 5-second buckets only; full windows also need minutes and evidence."""

    def __init__(
        self,
        counts: CountStore,
        probes: ProbeStore,
        evidence: EvidenceStore | None,
        counters: LocalCounters,
        policy: BreakerPolicy,
    ) -> None:
        self._counts, self._probes, self._evidence = counts, probes, evidence
        self._counters, self._policy = counters, policy
        self._history, self._recent = MinuteHistory(counts), RecentBuckets(counts)

    def adopt(self, policy: BreakerPolicy) -> None:
        """Read by other rules from now on."""
        self._policy = policy

    async def prepare(self, models: Sequence[str], now_s: float) -> bool:
        """Fetch minutes long past, a part of a large fleet at a time; True once each model can be judged in full."""
        return await self._history.prepare(models, last_complete_minute(now_s, self._policy.grace_s))

    async def read(self, here: Snapshot, now_s: float, *, full: bool) -> Seen:
        """What is known of the model of `here`; without `full` no minutes, so nothing can clear on it."""
        return (await self.read_of([here], now_s, full=full))[here.model]

    async def read_of(self, standing: Sequence[Snapshot], now_s: float, *, full: bool) -> dict[str, Seen]:
        """What `read` gives, for several models in few questions."""
        policy, models = self._policy, [here.model for here in standing]
        bucket = int(now_s // FAST_BUCKET_S)
        widest_s = max(policy.burst_window_s, policy.stuck_window_s, policy.hard_window_s)
        first, fresh = (bucket - int(window_s // FAST_BUCKET_S) for window_s in (widest_s, policy.hard_window_s))
        fast = await self._recent.rows_of(models, first, bucket, fresh=fresh, whole=full)
        minutes: Mapping[str, Sequence[MinuteRow]] = {}
        found: Mapping[str, Sequence[Evidence]] = {}
        if full:
            minutes = await self._history.minutes_of(models, last_complete_minute(now_s, policy.grace_s))
            found = await self._evidence.evidence_of(models) if self._evidence is not None else {}
        return {
            here.model: Seen(
                minutes=minutes.get(here.model, ()),
                fast=fast[here.model],
                probes=await self._tally(here),
                evidence=(*found.get(here.model, ()), *self.streak(here, now_s)),
            )
            for here in standing
        }

    async def _tally(self, here: Snapshot) -> ProbeTally | None:
        return await self._probes.tally(here.model, here.epoch) if here.level is Level.RECOVERING else None

    def streak(self, here: Snapshot, now_s: float) -> tuple[Evidence, ...]:
        """This replica's running row of hard failures since the watermark, as evidence only it can give."""
        model, streak = here.model, self._counters.streak(here.model, here.watermark)
        if streak is None or now_s - streak.last_at > self._policy.hard_window_s:
            return ()
        return (
            Evidence(
                id=f"{self._counters.boot_id}:{model}:{streak.first_at}",
                kind=EvidenceKind.HARD_IN_A_ROW,
                model=model,
                found_at=streak.last_at,
                valid_until=now_s + self._policy.hard_window_s,
                numbers=(("failures", float(streak.failures)), ("quiet_s", now_s - streak.quiet_since)),
            ),
        )

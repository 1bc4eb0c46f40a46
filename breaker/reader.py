"""Reads what a decision about one model needs, and no more than that.

In:  the ports and this process's own counters.  Out: Seen.  Raises StoreUnavailable where a store does.
"""

from breaker.counting import LocalCounters
from breaker.evidence import Evidence, EvidenceKind, EvidenceStore
from breaker.history import MinuteHistory
from breaker.levels import Level
from breaker.policy import BreakerPolicy
from breaker.ports import CountStore, ProbeStore
from breaker.seen import Seen, last_complete_minute
from breaker.snapshot import Snapshot
from breaker.window import FAST_BUCKET_S


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
        self._history = MinuteHistory(counts)

    def adopt(self, policy: BreakerPolicy) -> None:
        """Read by other rules from now on."""
        self._policy = policy

    async def read(self, here: Snapshot, now_s: float, *, full: bool) -> Seen:
        """What is known of the model of `here`; without `full` no minutes, so nothing can clear on it."""
        policy, model = self._policy, here.model
        bucket = int(now_s // FAST_BUCKET_S)
        widest_s = max(policy.burst_window_s, policy.stuck_window_s, policy.hard_window_s)
        fast = await self._counts.fast(model, bucket - int(widest_s // FAST_BUCKET_S), bucket)
        probes = await self._probes.tally(model, here.epoch) if here.level is Level.RECOVERING else None
        if not full:
            return Seen(fast=fast, probes=probes, evidence=self.streak(model, now_s))
        minutes = await self._history.minutes(model, last_complete_minute(now_s, policy.grace_s))
        found = await self._evidence.evidence(model) if self._evidence is not None else ()
        return Seen(minutes=minutes, fast=fast, probes=probes, evidence=(*found, *self.streak(model, now_s)))

    def streak(self, model: str, now_s: float) -> tuple[Evidence, ...]:
        """This replica's running row of hard failures, as evidence only it can give."""
        streak = self._counters.streak(model)
        if streak is None or now_s - streak.last_at > self._policy.hard_window_s:
            return ()
        return (
            Evidence(
                id=f"{self._counters.boot_id}:{model}:{streak.first_at}",
                kind=EvidenceKind.HARD_IN_A_ROW,
                model=model,
                found_at=streak.last_at,
                valid_until=now_s + self._policy.hard_window_s,
                numbers=(("failures", float(streak.failures)), ("quiet_s", now_s - streak.first_at)),
            ),
        )

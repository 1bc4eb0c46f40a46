"""Levels that one replica raises by its own counts while the store is gone: up only, and for a limited time.

Once the store is back the fleet decides: over the counts of all, those of this replica included.
In:  this process's counters.  Out: what routing obeys.  Source: BREAKER.md, Redis down.
"""

from collections.abc import Mapping

from breaker.counting import LocalCounters
from breaker.fleet import Hold, by_ratio_only
from breaker.levels import Level, Mode
from breaker.machine import highest
from breaker.policy import BreakerPolicy
from breaker.reader import Reader
from breaker.seen import Seen, view_of
from breaker.snapshot import Snapshot
from breaker.triggers import read_all
from breaker.window import MINUTE_S


class LocalLevels:
    """Raised levels by model, each until a moment. A document written since then ends one early."""

    def __init__(self, counters: LocalCounters, reader: Reader) -> None:
        self._counters, self._reader = counters, reader
        self._raised: dict[str, tuple[Level, float]] = {}

    def evaluate(
        self, snapshots: Mapping[str, Snapshot], hold: Hold | None, policy: BreakerPolicy, now_s: float
    ) -> None:
        """Raise what this replica alone has seen reason to raise; lower nothing."""
        for model, here in snapshots.items():
            if _ordered(here, now_s) or not self._counters.had_bad(model, now_s):
                continue
            minutes, fast = self._counters.local(model)
            seen = Seen(minutes=minutes, fast=fast, evidence=self._reader.streak(here, now_s))
            asked = highest(read_all(view_of(here, seen, policy, now_s), policy))
            if asked is None or asked.level.severity <= here.level.severity:
                continue
            if hold is not None and now_s < hold.until and by_ratio_only(asked.reasons):
                continue
            self._raised[model] = (asked.level, now_s + policy.local_level_s)

    def raised(self, now_s: float) -> bool:
        """Whether a level decided here is in force."""
        if self._raised:
            self._raised = {model: one for model, one in self._raised.items() if now_s < one[1]}
        return bool(self._raised)

    def effective(self, snapshots: Mapping[str, Snapshot], now_s: float) -> dict[str, Level]:
        """The documents' levels, or the higher one decided here. A forced mode is not overruled before its end."""
        out = {}
        for model, snapshot in snapshots.items():
            level, until = self._raised.get(model, (Level.HEALTHY, 0.0))
            higher = now_s < until and not _ordered(snapshot, now_s) and level.severity > snapshot.effective.severity
            out[model] = level if higher else snapshot.effective
        return out

    def store_is_back(self, policy: BreakerPolicy, now_s: float) -> None:
        """Leave the levels raised here in force only until the fleet has looked at every minute of the outage.

        What this replica counted is written now, and whoever evaluates sees it beside what the others counted. Kept for
        their whole time instead, the levels would keep one replica from a model that all others use, without any probe.
        """
        looked_at = now_s + MINUTE_S + policy.grace_s + policy.full_s + policy.poll_s
        self._raised = {model: (level, min(until, looked_at)) for model, (level, until) in self._raised.items()}

    def forget(self, model: str) -> None:
        """The fleet has decided about the model since."""
        self._raised.pop(model, None)


def _ordered(here: Snapshot, now_s: float) -> bool:
    """Whether an operator's mode is in force. One that has run out holds no more, though nobody can write so."""
    return here.mode is not Mode.AUTO and not 0.0 < here.mode_until <= now_s

"""What the gates did, for Prometheus: the counters of SPEC 2.5, by model.

Most replies are guarded and nothing else, so that is one increment; the rest is counted only where there is something.
"""

from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter

from base.faults import Fault
from upstream.attempt import Attempt


class GateMetrics:
    """Registers itself in `registry`. Counters of one router process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(name, what, labels, registry=registry, namespace="pointsman")

        self.guarded = counter("guarded_replies", "Replies that were judged", "model")
        self.trips = counter("gate_trips", "Loops found in replies", "model")
        self.recoveries = counter("gate_recoveries", "Loops that ended by themselves", "model")
        self.hard_stops = counter("hard_stops", "Streams ended by the gate for a loop", "model", "mode")
        self.retries = counter("loop_retries", "Attempts made because the one before looped unseen", "model")
        self.exhausted = counter("loop_retries_exhausted", "Requests whose last attempt looped too", "route")
        self.suppressed = counter("suppressed_chars", "Looped text not shown", "model")
        self.cleaned = counter("cleaned_replies", "Replies handed on with a loop taken out", "model")
        self.errors = counter("detector_errors", "Replies passed on because the detector failed", "model")
        self.held_chars = counter("held_chars", "Text held on suspicion and then shown", "model")
        self.hold_s = counter("hold_seconds", "How long it was held", "model")
        self.first_restatements = counter("first_restatements", "Replies that said the previous one again", "model")
        self._guarded = lru_cache(1024)(self.guarded.labels)

    def attempt(self, model: str, attempt: Attempt) -> None:
        """Count one attempt's share."""
        if attempt.guarded:
            self._guarded(model).inc()
        if attempt.trips or attempt.suppressed_chars or attempt.hard_stop:
            self._looped(model, attempt)
        if attempt.held_chars:
            self.held_chars.labels(model).inc(attempt.held_chars)
            self.hold_s.labels(model).inc(attempt.hold_s)
        if attempt.detector_errors:
            self.errors.labels(model).inc(attempt.detector_errors)

    def _looped(self, model: str, attempt: Attempt) -> None:
        self.trips.labels(model).inc(attempt.trips)
        self.suppressed.labels(model).inc(attempt.suppressed_chars)
        if attempt.recoveries:
            self.recoveries.labels(model).inc(attempt.recoveries)
            if attempt.fault is not Fault.REPETITION:
                self.cleaned.labels(model).inc()
        if attempt.hard_stop:
            self.hard_stops.labels(model, attempt.stopped.value if attempt.stopped else "none").inc()

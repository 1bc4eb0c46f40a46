"""What Prometheus may know of the breaker and of what waits for its stores, read when it asks.

Labels come from the settings and closed lists. Counters are this process's own; the fleet's are their sum.
"""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from breaker.guard import Guard
from store.redis_windows import RedisCounts
from store.spooled_transitions import SpooledTransitions
from store.sql_calls import SqlCallLog
from store.sql_feedback import SqlFeedbackLog


class BreakerCollector(Collector):
    """Registers itself in `registry`."""

    def __init__(
        self,
        registry: CollectorRegistry,
        guard: Guard,
        counts: RedisCounts,
        calls: SqlCallLog,
        moves: SpooledTransitions,
        feedback: SqlFeedbackLog,
    ) -> None:
        self._guard, self._counts, self._calls, self._moves = guard, counts, calls, moves
        self._feedback = feedback
        registry.register(self)

    def describe(self) -> list[Metric]:
        """Names are not looked up ahead: collecting is cheap, and there is nothing to read before the start."""
        return []

    def collect(self) -> Iterator[Metric]:
        guard, calls = self._guard, self._calls
        decided = CounterMetricFamily(
            "pointsman_breaker_moves", "Moves up decided by this process", labels=("model", "level", "enforced")
        )
        for (model, level, enforced), times in guard.moves.items():
            decided.add_metric((model, level.value, "yes" if enforced else "no"), times)
        yield decided
        yield CounterMetricFamily(
            "pointsman_open_cap_hits", "Models kept in service by max_open_ratio", value=guard.open_cap_hits
        )
        yield CounterMetricFamily("pointsman_resyncs", "Full rewrites of counts", value=guard.resyncs)
        yield CounterMetricFamily("pointsman_counts_refused", "Rows of an impossible time", value=self._counts.refused)
        yield GaugeMetricFamily("pointsman_store_down", "1 while Redis does not answer", value=guard.store_down)
        yield from self._samples()
        suspect = GaugeMetricFamily("pointsman_detector_suspect", "1 while moves by ratio are held")
        suspect.add_metric((), guard.detector_suspect)
        yield suspect
        waiting = GaugeMetricFamily("pointsman_spool_bytes", "On disk while SQL is away", labels=("queue",))
        waiting.add_metric(("calls",), calls.spooled_bytes)
        waiting.add_metric(("transitions",), self._moves.spooled_bytes)
        waiting.add_metric(("feedback",), self._feedback.spooled_bytes)
        yield waiting
        lost = CounterMetricFamily("pointsman_rows_lost", "Rows nobody could keep", labels=("queue", "why"))
        lost.add_metric(("calls", "full"), calls.dropped)
        lost.add_metric(("calls", "refused"), calls.refused)
        lost.add_metric(("transitions", "refused"), self._moves.refused)
        for why, rows in (("full", self._feedback.dropped), ("refused", self._feedback.refused)):
            lost.add_metric(("feedback", why), rows)
        lost.add_metric(("feedback", "unknown"), self._feedback.unknown)
        yield lost
        yield GaugeMetricFamily("pointsman_rows_waiting", "Call rows in memory", value=calls.waiting)

    def _samples(self) -> Iterator[Metric]:
        """What the evaluator found at its last full evaluation; other replicas have nothing to say."""
        unknown = GaugeMetricFamily(
            "pointsman_insufficient_sample", "1 while no ratio rule has its minimum sample", labels=("model",)
        )
        wanted = GaugeMetricFamily(
            "pointsman_probes_wanted", "1 while synthetic probes are asked for", labels=("model",)
        )
        for model, told in self._guard.explanations.items():
            unknown.add_metric((model,), told.unknown)
            wanted.add_metric((model,), told.probes_wanted)
        yield unknown
        yield wanted

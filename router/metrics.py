"""What Prometheus may know of the router: its own registry, so that two routers in one process do not mix.

Labels come from closed lists or from the settings, never from a client's text.
"""

from collections.abc import Container
from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from breaker.levels import Level
from breaker.outcome import Outcome
from detector.structured import Parsed
from router.gate_metrics import GateMetrics
from router.topology import Model
from upstream.attempt import Attempt, Usage

_OVERHEAD = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1)
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class RouterMetrics:
    """Counters of one router process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        make = {"registry": self.registry, "namespace": "pointsman"}
        self.requests = Counter("requests", "Requests by route and answer", ("route", "status", "fallback"), **make)  # type: ignore[arg-type]
        self.attempts = Counter("attempts", "Attempts by model and outcome", ("model", "outcome", "fault"), **make)  # type: ignore[arg-type]
        self.seconds = Histogram("request_seconds", "Whole request", ("route",), buckets=_SECONDS, **make)  # type: ignore[arg-type]
        self.first_text = Histogram("first_text_seconds", "Until first text", ("route",), buckets=_SECONDS, **make)  # type: ignore[arg-type]
        self.parsed = Counter("parse_steps", "How structured replies were read", ("model", "step"), **make)  # type: ignore[arg-type]
        self.parse_reasons = Counter("parse_reasons", "First fault of structured replies", ("model", "reason"), **make)  # type: ignore[arg-type]
        self.refused = Counter("refused", "Requests refused before routing", ("code",), **make)  # type: ignore[arg-type]
        self.log_failures = Counter("call_log_failures", "Rows the call log did not take", **make)  # type: ignore[arg-type]
        self.plug_in_failures = Counter("plug_in_failures", "Validators that raised", ("name",), **make)  # type: ignore[arg-type]
        self.feedback = Counter("feedback", "What people said of replies", ("kind", "source", "result"), **make)  # type: ignore[arg-type]
        self.tokens = Counter("tokens", "Tokens the vendors billed", ("model", "kind"), **make)  # type: ignore[arg-type]
        self.cost = Counter("cost", "What they cost by the settings' prices", ("model", "currency"), **make)  # type: ignore[arg-type]
        self.overhead = Histogram("overhead_seconds", "Request less attempts", ("route",), buckets=_OVERHEAD, **make)  # type: ignore[arg-type]
        self.observed = Counter("observed_repeats", "Loops judged under the switch observe", ("model",), **make)  # type: ignore[arg-type]
        self.gate = GateMetrics(self.registry)
        self.shadows = Counter("shadow_probes", "Probes by copies of requests", ("model", "outcome"), **make)  # type: ignore[arg-type]
        self.at_cap = Counter("model_at_cap", "Draws past a model at its cap", ("model",), **make)  # type: ignore[arg-type]
        self.in_flight = Gauge("in_flight", "Requests being served", **make)  # type: ignore[arg-type]
        self.level = Gauge("model_severity", "0 healthy, 1 warn, 2 reduced, 3 open or recovering", ("model",), **make)  # type: ignore[arg-type]
        self.phrase_only = Gauge("route_phrase_only", "1 while no model of the route may answer", ("route",), **make)  # type: ignore[arg-type]
        # The client looks a child up under a lock, by labels it checks anew each time: seven times a request.
        self._attempts, self._requests = (lru_cache(4096)(c.labels) for c in (self.attempts, self.requests))
        histograms = (self.seconds, self.first_text, self.overhead)
        self._seconds, self._first_text, self._overhead = (lru_cache(1024)(h.labels) for h in histograms)
        self._tokens = lru_cache(4096)(self.tokens.labels)

    def attempt(self, model: str, outcome: Outcome, attempt: Attempt, request_id: str = "") -> None:
        """Count one attempt. What was no good reply leaves its request's id behind, as an exemplar."""
        good = outcome in (Outcome.GOOD, Outcome.NOT_COUNTED)
        exemplar = {"request_id": request_id} if request_id and not good else None
        self._attempts(model, outcome.value, attempt.fault.value if attempt.fault else "none").inc(1, exemplar)
        self.gate.attempt(model, attempt)

    def billed(self, model: Model, usage: Usage) -> None:
        """Count what one attempt was billed, and its price where the settings name one."""
        for kind, tokens in (("input", usage.prompt_tokens), ("output", usage.completion_tokens)):
            if tokens > 0:
                self._tokens(model.name, kind).inc(tokens)
        if model.price is not None and (cost := model.price.of(usage.prompt_tokens, usage.completion_tokens)) > 0:
            self.cost.labels(model.name, model.price.currency).inc(cost)

    def read_as(self, model: str, parsed: Parsed) -> None:
        """How one structured reply was read, and the first thing that was wrong with it."""
        self.parsed.labels(model, parsed.step.value if parsed.step else "failed").inc()
        if parsed.reason is not None:
            self.parse_reasons.labels(model, parsed.reason.value).inc()

    def request(self, route: str, status: int, fallback: str, elapsed_s: float, first_text_s: float | None) -> None:
        self._requests(route, str(status), fallback).inc()
        self._seconds(route).observe(elapsed_s)
        if first_text_s is not None:
            self._first_text(route).observe(first_text_s)

    def took_beside(self, route: str, seconds: float) -> None:
        """What a request took beside its attempts."""
        self._overhead(route).observe(seconds)

    def stands(self, model: str, level: Level) -> None:
        self.level.labels(model).set(level.severity)

    def forget_all_but(self, models: Container[str], routes: Container[str]) -> None:
        """Gauges of what a reload has taken away go; counters stay, they only grow."""
        for gauge, kept in ((self.level, models), (self.phrase_only, routes)):
            gone = [s.labels for f in gauge.collect() for s in f.samples if next(iter(s.labels.values())) not in kept]
            for labels in gone:
                gauge.remove(*labels.values())

    def exposition(self) -> bytes:
        """Prometheus' text format."""
        return generate_latest(self.registry)

    def openmetrics(self) -> bytes:
        """The same with exemplars: the ids of requests that were no good lead from an alert to samples."""
        told: bytes = openmetrics.generate_latest(self.registry)  # type: ignore[no-untyped-call]
        return told

"""Several workers' metrics as one exposition that Prometheus can read."""

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

from base.faults import Fault
from breaker.outcome import Outcome
from pointsman.worker_metrics import merged
from router.metrics import RouterMetrics
from upstream.attempt import Attempt


def exposition(requests: int) -> bytes:
    metrics = RouterMetrics()
    for _ in range(requests):
        metrics.request("main", 200, "none", 0.1, None)
    return metrics.exposition()


def test_each_sample_names_its_worker_and_each_family_stands_once() -> None:
    families = list(text_string_to_metric_families(merged({0: exposition(2), 1: exposition(3)}).decode()))
    assert len({family.name for family in families}) == len(families)
    requests = next(f for f in families if f.name == "pointsman_requests")
    counted = {s.labels["worker"]: s.value for s in requests.samples if s.name.endswith("_total")}
    assert counted == {"0": 2.0, "1": 3.0}
    assert requests.type == "counter"
    assert all("worker" in s.labels for family in families for s in family.samples)


def test_a_worker_that_does_not_answer_is_told() -> None:
    families = text_string_to_metric_families(merged({0: exposition(1), 1: None}).decode())
    up = next(family for family in families if family.name == "pointsman_worker_up")
    assert {s.labels["worker"]: s.value for s in up.samples} == {"0": 1.0, "1": 0.0}


def test_exemplars_of_all_workers_lead_to_their_requests() -> None:
    told = {}
    for worker in (0, 1):
        metrics = RouterMetrics()
        failed = Attempt(started_at=0.0, elapsed_s=0.1, fault=Fault.SERVER_ERROR)
        metrics.attempt("a } b", Outcome.FAILED, failed, f"pm-{worker}")
        told[worker] = metrics.openmetrics()
    families = openmetrics_families(merged(told).decode() + "# EOF\n")
    attempts = next(family for family in families if family.name == "pointsman_attempts")
    found = {s.labels["worker"]: s.exemplar.labels["request_id"] for s in attempts.samples if s.exemplar}
    assert found == {"0": "pm-0", "1": "pm-1"}
    assert {s.labels["model"] for s in attempts.samples} == {"a } b"}


def test_labels_with_blanks_and_braces_survive() -> None:
    told = merged({3: b'# TYPE x counter\nx_total{route="a } b"} 1.0\ny 2\n'}).decode()
    assert 'x_total{worker="3",route="a } b"} 1.0' in told
    assert 'y{worker="3"} 2' in told

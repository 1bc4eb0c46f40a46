"""A policy that contradicts itself does not load."""

import pytest
from pydantic import ValidationError

from breaker.policy import BreakerPolicy


def test_the_defaults_are_the_documented_lines() -> None:
    policy = BreakerPolicy()
    assert (policy.warn_ratio, policy.reduce_ratio, policy.open_ratio) == (0.08, 0.15, 0.25)


@pytest.mark.parametrize(
    "fields",
    [
        {"warn_ratio": 0.2},
        {"warn_clear_ratio": 0.09},
        {"reduce_clear_ratio": 0.15},
        {"hard_reduce_ratio": 0.6},
        {"soft_warn_clear_ratio": 0.1},
        {"soft_warn_ratio": 0.3},
        {"soft_open_ratio": 0.15},
        {"soft_reduce_clear_ratio": 0.2},
        {"json_warn_clear_ratio": 0.2},
        {"probe_good_ratio": 0.3},
        {"open_ratio": 25},
        {"reduce_window_min": 131},
        {"no_such_field": 1},
        {"probe_budget": 12},
        {"trend_buckets": 12, "trend_bucket_min": 11},
        {"trend_score": 16},
        {"rolling_evaluations": 126},
        {"reduce_clear_evaluations": 131},
        {"hard_window_s": 301.0},
        {"burst_window_s": 3_600.0},
        {"low_traffic_requests": 240},
        {"lease_s": 1.0},
        {"hard_in_a_row": 101},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_contradictions_and_unknown_fields_are_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        BreakerPolicy(**fields)

"""The rules that raise a level. Each takes a View and the policy and returns a Reading; none moves anything."""

from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.burst import burst
from breaker.triggers.findings import complaints, hard_in_a_row, nightly, scenes
from breaker.triggers.hard import hard_failures
from breaker.triggers.low_traffic import low_traffic
from breaker.triggers.ratio import ratio_10m, ratio_30m
from breaker.triggers.reading import Reading
from breaker.triggers.rolling import rolling
from breaker.triggers.soft import soft_failures, unreadable_json
from breaker.triggers.stuck import stuck_streams
from breaker.triggers.trend import trend

RULES = (
    ratio_10m,
    ratio_30m,
    rolling,
    low_traffic,
    soft_failures,
    unreadable_json,
    trend,
    stuck_streams,
    burst,
    hard_failures,
    hard_in_a_row,
    nightly,
    scenes,
    complaints,
)


def read_all(view: View, policy: BreakerPolicy) -> tuple[Reading, ...]:
    """What every rule says, in a fixed order."""
    return tuple(rule(view, policy) for rule in RULES)


__all__ = ["RULES", "Reading", "read_all"]

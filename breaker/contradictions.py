"""What in the breaker's numbers contradicts itself: lines out of order, rules that cannot fire, models that cannot come back.

Decides; pure.  In: a policy, field by field well formed.  Out: every contradiction, not the first alone.
Each names the fields it is about, so that whoever reads the file can be led to their lines.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from breaker.window import KEPT_FAST_S, KEPT_MIN

if TYPE_CHECKING:
    from breaker.policy import BreakerPolicy

RISING = (
    ("warn_clear_ratio", "warn_ratio", False),
    ("warn_ratio", "reduce_ratio", True),
    ("reduce_ratio", "open_ratio", True),
    ("reduce_clear_ratio", "reduce_ratio", False),
    ("soft_warn_clear_ratio", "soft_warn_ratio", False),
    ("soft_warn_ratio", "soft_reduce_ratio", True),
    ("soft_reduce_ratio", "soft_open_ratio", True),
    ("soft_reduce_clear_ratio", "soft_reduce_ratio", False),
    ("json_warn_clear_ratio", "json_warn_ratio", False),
    ("hard_reduce_ratio", "hard_open_ratio", True),
    ("probe_good_ratio", "probe_bad_ratio", False),
    ("fast_s", "lease_s", False),
)
"""The lower, the higher, and whether they may be equal. A level that clears where it sets would flap; a line above that
of a higher level would never be reached first; a lease shorter than the tick that renews it is lost each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """`fields` are those it is about, the one to mend most likely first; `rule` is what they must hold."""

    fields: tuple[str, ...]
    rule: str

    def told(self, policy: "BreakerPolicy") -> str:
        """The rule, with each value that stands against it and its default."""
        return f"{self.rule}; {', '.join(_value(policy, name) for name in self.fields)}"


def contradictions(policy: "BreakerPolicy") -> list[Contradiction]:
    """All of them, in the order of the fields."""
    return [*_out_of_order(policy), *_out_of_reach(policy), *_out_of_budget(policy)]


def _value(policy: "BreakerPolicy", name: str) -> str:
    value, default = getattr(policy, name), type(policy).model_fields[name].default
    return f"{name} is {value:g}" + (" by default" if value == default else f" (default {default:g})")


def _out_of_order(policy: "BreakerPolicy") -> Iterator[Contradiction]:
    for lower, higher, equal in RISING:
        low, high = getattr(policy, lower), getattr(policy, higher)
        if low < high or (equal and low == high):
            continue
        # Whoever set one of the two meant that one; the other is where the default stands.
        first, second = (higher, lower) if lower not in policy.model_fields_set else (lower, higher)
        yield Contradiction(fields=(first, second), rule=f"must hold {lower} {'<=' if equal else '<'} {higher}")


def _out_of_reach(policy: "BreakerPolicy") -> Iterator[Contradiction]:
    """Rules that would look further back than counts are kept."""
    span = policy.trend_buckets * policy.trend_bucket_min
    if span > KEPT_MIN:
        rule = f"trend_buckets x trend_bucket_min must not exceed the {KEPT_MIN} minutes kept"
        yield Contradiction(fields=("trend_buckets", "trend_bucket_min"), rule=rule)
    pairs = policy.trend_buckets * (policy.trend_buckets - 1) // 2
    if policy.trend_score > pairs:
        rule = f"must not be above {pairs}, the most that so many trend_buckets can reach"
        yield Contradiction(fields=("trend_score", "trend_buckets"), rule=rule)
    if policy.rolling_evaluations + policy.rolling_window_min > KEPT_MIN:
        rule = f"together they must not reach behind the {KEPT_MIN} minutes kept"
        yield Contradiction(fields=("rolling_evaluations", "rolling_window_min"), rule=rule)
    if policy.reduce_clear_evaluations > KEPT_MIN:
        rule = f"must not exceed the {KEPT_MIN} minutes kept"
        yield Contradiction(fields=("reduce_clear_evaluations",), rule=rule)
    for name in ("stuck_window_s", "burst_window_s", "hard_window_s"):
        if getattr(policy, name) > KEPT_FAST_S:
            yield Contradiction(fields=(name,), rule=f"must not exceed the {KEPT_FAST_S} s kept of 5-second buckets")
    if policy.low_traffic_requests >= policy.low_traffic_per_min * policy.low_traffic_age_min:
        rule = "so many requests do not fit into that time at that rate, so the rule could never fire"
        fields = ("low_traffic_requests", "low_traffic_per_min", "low_traffic_age_min")
        yield Contradiction(fields=fields, rule=rule)


def _out_of_budget(policy: "BreakerPolicy") -> Iterator[Contradiction]:
    """A budget in which no probe test can pass would keep every opened model out for good."""
    if policy.probe_good_ratio >= policy.probe_bad_ratio:
        return
    clean = math.log((1 - policy.probe_good_ratio) / (1 - policy.probe_bad_ratio))
    needed = math.ceil(math.log((1 - policy.probe_false_fail) / policy.probe_false_pass) / clean)
    needed = max(needed, policy.probe_hard_good)
    if policy.probe_budget < needed:
        rule = f"must be {needed} or more: so many clean probes it takes to pass"
        yield Contradiction(fields=("probe_budget",), rule=rule)

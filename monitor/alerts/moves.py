"""A move of the breaker as an alert: a model's incident goes from its first L1 until it is healthy again.

In:  Transition.  Out: Alert, whose `facts` hold the figures of the rule that decided, with the line in force.
"""

from collections.abc import Iterable
from typing import Any

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.snapshot import Transition
from monitor.alerts.alert import Alert, AlertKind, Severity

SEVERITIES = {
    Level.HEALTHY: Severity.INFO,
    Level.WARN: Severity.WARN,
    Level.REDUCED: Severity.WARN,
    Level.OPEN: Severity.CRITICAL,
    Level.RECOVERING: Severity.CRITICAL,  # still without ordinary traffic
}


def alert_of(move: Transition) -> Alert:
    """The alert of one move. What is decided and not enforced (observe mode) wakes nobody: at most WARN."""
    severity = SEVERITIES[move.to_level]
    if not move.enforced and severity is Severity.CRITICAL:
        severity = Severity.WARN
    return Alert(
        kind=AlertKind.TRANSITION,
        subject=move.model,
        model=move.model,
        severity=severity,
        at=move.at,
        facts={
            "from": move.from_level.value,
            "level": move.to_level.value,
            "epoch": move.epoch,
            "reasons": [reason.value for reason in move.reasons],
            "numbers": [[name, value] for name, value in move.numbers],
            "actor": move.actor,
            "note": move.note,
            "enforced": move.enforced,
            **_worst(move),
            **{name: value for name, value in move.numbers if name == "until"},
        },
    )


LATE_S = 90.0
"""A window ends with the last complete minute, which was over up to so long before the move."""
HOUR_S = 3_600.0


def looked_back_s(reasons: Iterable[str], policy: BreakerPolicy) -> float | None:
    """How long before a move the replies came by which it was decided; None: its reasons are no rules of live replies."""
    spans = {
        Reason.RATIO_10M: policy.warn_window_min * 60.0,
        Reason.RATIO_30M: policy.reduce_window_min * 60.0,
        Reason.ROLLING_15M: policy.open_window_min * 60.0,
        Reason.LOW_TRAFFIC_30: policy.low_traffic_age_min * 60.0,
        Reason.SOFT_FAILURES: policy.reduce_window_min * 60.0,  # of its three windows the longest
        Reason.UNREADABLE_JSON: policy.warn_window_min * 60.0,
        Reason.STUCK_STREAMS: policy.stuck_window_s,
        Reason.BURST: policy.burst_window_s,
        Reason.TREND: policy.trend_buckets * policy.trend_bucket_min * 60.0,
        Reason.SCENE: 2 * HOUR_S,  # an hour, judged after its end
        Reason.COMPLAINTS: 2 * HOUR_S,  # people complain of what they read a while ago: monitor.policy, burst_asked_s
    }
    known = [spans[Reason(name)] for name in reasons if name in spans]
    return max(known) + LATE_S if known else None


def is_over(move: Transition) -> bool:
    """Whether the model is healthy after it."""
    return move.to_level is Level.HEALTHY


def _worst(move: Transition) -> dict[str, Any]:
    """`ratio`, `n`, `k` and `line` of the rule with the highest ratio. Names come as `rule.name`, or bare."""
    by_rule: dict[str, dict[str, float]] = {}
    for name, value in move.numbers:
        rule, _, short = name.rpartition(".")
        by_rule.setdefault(rule, {})[short] = value
    rated = [numbers for numbers in by_rule.values() if "ratio" in numbers]
    if not rated:
        return {}
    worst = max(rated, key=lambda numbers: numbers["ratio"])
    return {name: worst[name] for name in ("ratio", "n", "k", "line") if name in worst}

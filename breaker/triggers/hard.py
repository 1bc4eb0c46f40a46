"""A dead vendor: timeouts, connect errors, 5xx and broken streams within 30 seconds."""

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.reading import Reading, at_least


def hard_failures(view: View, policy: BreakerPolicy) -> Reading:
    """>= 50 % of >= 10 attempts asks for OPEN, >= 20 % for REDUCED."""
    rows = view.fast_since(policy.hard_window_s)
    attempts = sum(row.attempts for row in rows)
    hard = sum(row.hard for row in rows)
    known = attempts >= policy.hard_min_attempts
    opens = known and at_least(hard, policy.hard_open_ratio, attempts)
    line = policy.hard_open_ratio if opens else policy.hard_reduce_ratio
    ratio = hard / attempts if attempts else 0.0
    return Reading(
        reason=Reason.HARD_FAILURES,
        level=Level.OPEN if opens else Level.REDUCED,
        value=ratio,
        line=line,
        n=attempts,
        minimum=policy.hard_min_attempts,
        known=known,
        fired=known and at_least(hard, line, attempts),
        numbers=(("ratio", ratio), ("hard", hard), ("attempts", attempts), ("line", line)),
    )

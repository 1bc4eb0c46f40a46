"""Repeats over a window of complete minutes: the L1 and L2 lines (BREAKER.md, Set and clear)."""

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.reading import Reading, of_ratio


def ratio_10m(view: View, policy: BreakerPolicy) -> Reading:
    """L1: >= 8 % of >= 30 replies in 10 minutes."""
    return of_ratio(
        Reason.RATIO_10M,
        Level.WARN,
        view.window(policy.warn_window_min),
        line=policy.warn_ratio,
        minimum=policy.warn_min_judged,
        least=policy.warn_min_repeats,
    )


def ratio_30m(view: View, policy: BreakerPolicy) -> Reading:
    """L2: >= 15 % of >= 50 replies in 30 minutes."""
    return of_ratio(
        Reason.RATIO_30M,
        Level.REDUCED,
        view.window(policy.reduce_window_min),
        line=policy.reduce_ratio,
        minimum=policy.reduce_min_judged,
        least=policy.reduce_min_repeats,
    )

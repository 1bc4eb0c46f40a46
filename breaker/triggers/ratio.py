"""Repeats over a window of complete minutes: the L1 and L2 lines (BREAKER.md, Set and clear)."""

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.reading import Reading, at_least


def _over_window(
    view: View, *, reason: Reason, level: Level, minutes: int, line: float, min_judged: int, min_repeats: int
) -> Reading:
    seen = view.window(minutes)
    known = seen.n >= min_judged
    return Reading(
        reason=reason,
        level=level,
        value=seen.ratio,
        line=line,
        n=seen.n,
        minimum=min_judged,
        known=known,
        fired=known and seen.k >= min_repeats and at_least(seen.k, line, seen.n),
        numbers=(("ratio", seen.ratio), ("k", seen.k), ("n", seen.n), ("line", line)),
    )


def ratio_10m(view: View, policy: BreakerPolicy) -> Reading:
    """L1: >= 8 % of >= 30 replies in 10 minutes."""
    return _over_window(
        view,
        reason=Reason.RATIO_10M,
        level=Level.WARN,
        minutes=policy.warn_window_min,
        line=policy.warn_ratio,
        min_judged=policy.warn_min_judged,
        min_repeats=policy.warn_min_repeats,
    )


def ratio_30m(view: View, policy: BreakerPolicy) -> Reading:
    """L2: >= 15 % of >= 50 replies in 30 minutes."""
    return _over_window(
        view,
        reason=Reason.RATIO_30M,
        level=Level.REDUCED,
        minutes=policy.reduce_window_min,
        line=policy.reduce_ratio,
        min_judged=policy.reduce_min_judged,
        min_repeats=policy.reduce_min_repeats,
    )

"""Repeats over a window of complete minutes: the L1 and L2 lines (BREAKER.md, Set and clear).

After a step down the windows begin anew, and 50 replies of one minute are a small sample for a line of 15 %: a true
10 % would trip it once in ten minutes and go up and down all day. So until the window is whole again the ratio must
also be more than chance at the rate by which the model came down (docs/breaker.md, Flapping, has the figures).
"""

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.periods import binomial_tail
from breaker.triggers.reading import Reading, at_least


def _over_window(
    view: View,
    *,
    reason: Reason,
    level: Level,
    minutes: int,
    line: float,
    clear: float,
    chance: float,
    min_judged: int,
    min_repeats: int,
) -> Reading:
    seen = view.window(minutes)
    known = seen.n >= min_judged
    over = known and seen.k >= min_repeats and at_least(seen.k, line, seen.n)
    begun_anew = view.stepped_down and view.last - minutes + 1 < view.first
    by_chance = binomial_tail(seen.k, seen.n, clear) if over and begun_anew else 0.0
    return Reading(
        reason=reason,
        level=level,
        value=seen.ratio,
        line=line,
        n=seen.n,
        minimum=min_judged,
        known=known,
        fired=over and by_chance < chance,
        numbers=(
            ("ratio", seen.ratio),
            ("k", seen.k),
            ("n", seen.n),
            ("line", line),
            *((("chance", by_chance),) if by_chance else ()),
        ),
    )


def ratio_10m(view: View, policy: BreakerPolicy) -> Reading:
    """L1: >= 8 % of >= 30 replies in 10 minutes."""
    return _over_window(
        view,
        reason=Reason.RATIO_10M,
        level=Level.WARN,
        minutes=policy.warn_window_min,
        line=policy.warn_ratio,
        clear=policy.warn_clear_ratio,
        chance=policy.short_window_chance,
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
        clear=policy.reduce_clear_ratio,
        chance=policy.short_window_chance,
        min_judged=policy.reduce_min_judged,
        min_repeats=policy.reduce_min_repeats,
    )

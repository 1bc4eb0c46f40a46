"""L3 by ratio: 25 % for 15 minutes on end, read as 11 rolling 5-minute windows in a row.

"Every single minute >= 25 %" would find a 60 % bad model at 2 requests a minute only a quarter of the time
(simulated, BREAKER.md). The streak is recomputed from counts at each evaluation, so any replica finds the same.
"""

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import Series, View
from breaker.triggers.reading import Reading, at_least


def streak(view: Series, policy: BreakerPolicy, line: float | None = None) -> int:
    """Evaluations in a row, up to the last complete minute, whose rolling ratio is at or over `line` (`open_ratio`).

    An empty evaluation holds the streak; more than `rolling_empty_min` empty minutes on end break it.
    """
    line = policy.open_ratio if line is None else line
    run = empty = 0
    # Only whole windows: a model just started, or just reset, again needs its full 15 minutes.
    first = min((minute for minute, row in view.by_minute.items() if row.n), default=view.last + 1)
    for minute in range(first + policy.rolling_window_min - 1, view.last + 1):
        empty = 0 if view.at(minute).n else empty + 1
        seen = view.window(policy.rolling_window_min, ending=minute)
        if empty > policy.rolling_empty_min:
            run = 0
        elif seen.n:
            run = run + 1 if at_least(seen.k, line, seen.n) else 0
    return run


def rolling(view: View, policy: BreakerPolicy) -> Reading:
    """The streak, and the pooled 15 minutes over their own minima."""
    pooled = view.window(policy.open_window_min)
    run = streak(view, policy)
    known = pooled.n >= policy.open_min_judged
    bad = pooled.k >= policy.open_min_repeats and at_least(pooled.k, policy.open_ratio, pooled.n)
    return Reading(
        reason=Reason.ROLLING_15M,
        level=Level.OPEN,
        value=pooled.ratio,
        line=policy.open_ratio,
        n=pooled.n,
        minimum=policy.open_min_judged,
        known=known,
        fired=known and bad and run >= policy.rolling_evaluations,
        numbers=(
            ("ratio", pooled.ratio),
            ("k", pooled.k),
            ("n", pooled.n),
            ("line", policy.open_ratio),
            ("streak", run),
        ),
    )

"""L3 where minutes are too thin to judge: the last 30 requests, at most 2 h old, at under 2 a minute."""

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.reading import EXACT, Reading, at_least


def low_traffic(view: View, policy: BreakerPolicy) -> Reading:
    """Walk back minute by minute until 30 replies are found.

    Of the minute that holds the 30th only its part is taken, in proportion: a burst half an hour ago, of which one reply
    is among the last 30, must not decide for all of them.
    """
    n, k, wanted, whole = 0, 0.0, policy.low_traffic_requests, 0
    oldest = newest = None
    too_old = view.last - policy.low_traffic_age_min
    for minute in sorted((m for m, row in view.by_minute.items() if row.n and m > too_old), reverse=True):
        row = view.at(minute)
        newest = minute if newest is None else newest
        oldest = minute
        part = min(row.n, wanted - n)
        n, k, whole = n + part, k + row.k * part / row.n, whole + row.n
        if n >= wanted:
            break
    # The rate is that of the requests' own span: a burst before a silence was not low traffic.
    span = 0 if newest is None or oldest is None else newest - oldest + 1
    thin = 0 < whole < policy.low_traffic_per_min * span
    known = n >= wanted and thin
    ratio = k / n if n else 0.0
    return Reading(
        reason=Reason.LOW_TRAFFIC_30,
        level=Level.OPEN,
        value=ratio,
        line=policy.open_ratio,
        n=n,
        minimum=wanted,
        known=known,
        fired=known and k >= policy.low_traffic_min_repeats - EXACT and at_least(k, policy.open_ratio, n),
        numbers=(("ratio", ratio), ("k", k), ("n", n), ("line", policy.open_ratio), ("span_min", span)),
    )

"""L3 where minutes are too thin to judge: the last 30 requests, at most 2 h old, at under 2 a minute."""

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.reading import Reading, at_least


def low_traffic(view: View, policy: BreakerPolicy) -> Reading:
    """Walk back minute by minute until 30 replies are found; whole minutes are taken."""
    n = k = 0
    oldest = newest = None
    too_old = view.last - policy.low_traffic_age_min
    for minute in sorted((m for m, row in view.by_minute.items() if row.n and m > too_old), reverse=True):
        row = view.at(minute)
        newest = minute if newest is None else newest
        oldest = minute
        n, k = n + row.n, k + row.k
        if n >= policy.low_traffic_requests:
            break
    # The rate is that of the requests' own span: a burst before a silence was not low traffic.
    span = 0 if newest is None or oldest is None else newest - oldest + 1
    thin = 0 < n < policy.low_traffic_per_min * span
    known = n >= policy.low_traffic_requests and thin
    ratio = k / n if n else 0.0
    return Reading(
        reason=Reason.LOW_TRAFFIC_30,
        level=Level.OPEN,
        value=ratio,
        line=policy.open_ratio,
        n=n,
        minimum=policy.low_traffic_requests,
        known=known,
        fired=known and k >= policy.low_traffic_min_repeats and at_least(k, policy.open_ratio, n),
        numbers=(("ratio", ratio), ("k", k), ("n", n), ("line", policy.open_ratio), ("span_min", span)),
    )

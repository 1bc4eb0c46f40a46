"""L3 where minutes are too thin to judge: the last 30 requests, at most 2 h old, at under 2 a minute."""

from dataclasses import dataclass

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import Series, View
from breaker.triggers.reading import EXACT, Reading, at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class LastReplies:
    """`n` last replies, `k` of them bad (a part of one, where a minute was taken in part); `thin`: at under 2 a minute."""

    n: int
    k: float
    span_min: int
    thin: bool

    @property
    def ratio(self) -> float:
        return self.k / self.n if self.n else 0.0

    def known(self, policy: BreakerPolicy) -> bool:
        """Whether there are enough of them, and minutes could not tell."""
        return self.n >= policy.low_traffic_requests and self.thin

    def bad(self, policy: BreakerPolicy, line: float) -> bool:
        """Whether they are known and reach `line`."""
        enough = self.k >= policy.low_traffic_min_repeats - EXACT
        return self.known(policy) and enough and at_least(self.k, line, self.n)


def last_replies(series: Series, policy: BreakerPolicy) -> LastReplies:
    """Walk back minute by minute until 30 replies are found.

    Of the minute that holds the 30th only its part is taken, in proportion: a burst half an hour ago, of which one reply
    is among the last 30, must not decide for all of them.
    """
    n, k, wanted, whole = 0, 0.0, policy.low_traffic_requests, 0
    oldest = newest = None
    too_old = series.last - policy.low_traffic_age_min
    for minute in sorted((m for m, row in series.by_minute.items() if row.n and m > too_old), reverse=True):
        row = series.at(minute)
        newest = minute if newest is None else newest
        oldest = minute
        part = min(row.n, wanted - n)
        n, k, whole = n + part, k + row.k * part / row.n, whole + row.n
        if n >= wanted:
            break
    # The rate is that of the requests' own span: a burst before a silence was not low traffic.
    span = 0 if newest is None or oldest is None else newest - oldest + 1
    return LastReplies(n=n, k=k, span_min=span, thin=0 < whole < policy.low_traffic_per_min * span)


def low_traffic(view: View, policy: BreakerPolicy) -> Reading:
    """>= 25 % of the last 30 replies, k >= 10."""
    return of_the_last(Reason.LOW_TRAFFIC_30, last_replies(view, policy), policy.open_ratio, policy)


def of_the_last(reason: Reason, last: LastReplies, line: float, policy: BreakerPolicy) -> Reading:
    """L3 by the last replies, where minutes are too thin to judge."""
    return Reading(
        reason=reason,
        level=Level.OPEN,
        value=last.ratio,
        line=line,
        n=last.n,
        minimum=policy.low_traffic_requests,
        known=last.known(policy),
        fired=last.bad(policy, line),
        numbers=(("ratio", last.ratio), ("k", last.k), ("n", last.n), ("line", line), ("span_min", last.span_min)),
    )

"""L2: loop errors keep rising and do not fall: Mann-Kendall over the last six 5-minute buckets."""

from collections.abc import Sequence

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.reading import EXACT, Reading


def mann_kendall(series: Sequence[float]) -> int:
    """S: rising pairs less falling pairs; 15 at most for six values (Mann 1945)."""
    return sum(
        (later > earlier) - (later < earlier) for index, earlier in enumerate(series) for later in series[index + 1 :]
    )


def never_falls(series: Sequence[float], dip: float) -> bool:
    """Whether no value is below `dip` times the highest before it."""
    top = 0.0
    for value in series:
        if value < dip * top - EXACT:
            return False
        top = max(top, value)
    return True


def trend(view: View, policy: BreakerPolicy) -> Reading:
    """Rates per 1,000 replies; a bucket without a reply makes the trend unknown."""
    size, count = policy.trend_bucket_min, policy.trend_buckets
    whole = view.last - size * count + 1 >= view.first
    buckets = [view.window(size, ending=view.last - size * back) for back in range(count - 1, -1, -1)]
    rates = [1_000.0 * bucket.ratio for bucket in buckets]
    errors = sum(bucket.k for bucket in buckets)
    known = whole and all(bucket.n for bucket in buckets) and errors >= policy.trend_min_repeats
    score = mann_kendall(rates)
    rises = score >= policy.trend_score and rates[-1] >= policy.trend_growth * rates[0] - EXACT
    return Reading(
        reason=Reason.TREND,
        level=Level.REDUCED,
        value=score,
        line=policy.trend_score,
        n=errors,
        minimum=policy.trend_min_repeats,
        known=known,
        fired=known and rises and never_falls(rates, policy.trend_dip),
        numbers=(("score", score), ("first_per_1000", rates[0]), ("last_per_1000", rates[-1]), ("errors", errors)),
    )

"""L2: loop errors keep rising and do not fall: Mann-Kendall over the last six 5-minute buckets.

Buckets are those of the clock, so that each row of six is looked at once: read off sliding buckets every minute, a steady
2 % at 60 replies a minute "rises" five times a day. Even so it does twice a day by the four conditions alone; that the
later half is worse beyond chance leaves 0.4 (simulated, docs/breaker.md, Flapping).
"""

from collections.abc import Sequence

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import Tally, View
from breaker.triggers.periods import growth_chance
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


def _sum(buckets: Sequence[Tally]) -> Tally:
    return Tally(sum(b.n for b in buckets), sum(b.k for b in buckets))


def trend(view: View, policy: BreakerPolicy) -> Reading:
    """Rates per 1,000 replies; a bucket without a reply makes the trend unknown."""
    size, count = policy.trend_bucket_min, policy.trend_buckets
    last = view.last - (view.last + 1) % size
    whole = last - size * count + 1 >= view.first
    buckets = [view.window(size, ending=last - size * back) for back in range(count - 1, -1, -1)]
    rates = [1_000.0 * bucket.ratio for bucket in buckets]
    errors = sum(bucket.k for bucket in buckets)
    known = whole and all(bucket.n for bucket in buckets) and errors >= policy.trend_min_repeats
    score = mann_kendall(rates)
    rises = score >= policy.trend_score and rates[-1] >= policy.trend_growth * rates[0] - EXACT
    fires = known and rises and never_falls(rates, policy.trend_dip)
    half = count // 2
    by_chance = growth_chance(_sum(buckets[count - half :]), _sum(buckets[:half])) if fires else 1.0
    return Reading(
        reason=Reason.TREND,
        level=Level.REDUCED,
        value=score,
        line=policy.trend_score,
        n=errors,
        minimum=policy.trend_min_repeats,
        known=known,
        fired=fires and by_chance < policy.trend_chance,
        numbers=(("score", score), ("first_per_1000", rates[0]), ("last_per_1000", rates[-1]), ("errors", errors)),
    )

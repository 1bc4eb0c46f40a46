"""One period against the one before: did the rate rise, or is it chance?

The naive "+50 %" cries wolf in 20 % of hours at a mean count of 10; with the exact test it is at most 0.8 % (BREAKER.md).
"""

import math

from breaker.policy import BreakerPolicy
from breaker.seen import Tally
from breaker.triggers.reading import EXACT


def binomial_tail(at_least: int, trials: int, chance: float) -> float:
    """P(X >= at_least) for X ~ Binomial(trials, chance), exact."""
    if at_least <= 0:
        return 1.0
    if at_least > trials or chance <= 0.0:
        return 0.0
    if chance >= 1.0:
        return 1.0
    log_p, log_q = math.log(chance), math.log1p(-chance)
    whole = math.lgamma(trials + 1)
    terms = (
        math.exp(whole - math.lgamma(x + 1) - math.lgamma(trials - x + 1) + x * log_p + (trials - x) * log_q)
        for x in range(at_least, trials + 1)
    )
    return min(1.0, math.fsum(terms))


def growth_chance(current: Tally, previous: Tally) -> float:
    """Chance of so many repeats now if both periods had one rate: conditional binomial, one-sided."""
    replies = current.n + previous.n
    return binomial_tail(current.k, current.k + previous.k, current.n / replies) if replies else 1.0


def rose(current: Tally, previous: Tally, growth: float, policy: BreakerPolicy) -> bool:
    """Whether the rate rose by `growth` (1.5: +50 %) beyond chance; a previous zero asks only for enough repeats now."""
    if current.k < policy.period_min_repeats:
        return False
    if previous.k == 0:
        return True
    grown = current.k * previous.n >= growth * previous.k * current.n - EXACT
    return grown and growth_chance(current, previous) < policy.period_chance

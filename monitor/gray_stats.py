"""Is the new version worse? An e-value that may be looked at after every minute, and a bound at which it is good enough.

Pure.  Each bad event is asked which arm it came from. Were both arms alike, it would be the gray one with the chance
n_gray / (n_gray + n_stable) of that minute; a version `lift` times as bad draws it more often. The mixture over the
lifts 1.5, 2, 3 and 5 is a supermartingale while the arms are alike (of fixed margins the arm of a bad event is drawn
without replacement, which only lowers the expectation), so it ever reaches 100 with a chance of at most 1 in 100,
however often it is looked at (Ville). Source of lifts and line: BREAKER.md, Gray release; measured:
tests/unit/monitor/test_gray_stats.py.
"""

import math
from collections.abc import Sequence

LIFTS = (1.5, 2.0, 3.0, 5.0)
START = (0.0,) * len(LIFTS)


def weighed(logs: Sequence[float], gray_n: int, gray_k: int, stable_n: int, stable_k: int) -> tuple[float, ...]:
    """The log e-value of each lift after one minute more; `n` exposed, `k` of them bad."""
    if not gray_n or not stable_n or not (gray_k or stable_k):
        return tuple(logs)  # with one arm alone, or nothing bad, nothing is learned
    both = gray_n + stable_n
    return tuple(
        log + gray_k * math.log(lift * both / (lift * gray_n + stable_n))
        + stable_k * math.log(both / (lift * gray_n + stable_n))
        for log, lift in zip(logs, LIFTS, strict=True)
    )  # fmt: skip


def e_value(logs: Sequence[float]) -> float:
    """The mean of the lifts' e-values; 1.0 where nothing was seen."""
    return sum(math.exp(min(log, 700.0)) for log in logs) / len(logs)


def good_enough(n: int, k: int, stable_n: int, stable_k: int, *, floor: float, alpha: float, beta: float) -> bool:
    """Whether a sequential test (Wald) accepts the stable arm's rate p0 against 2 x p0 for the gray arm.

    p0 is at least `floor` (a rate of nothing cannot be doubled). `alpha`: chance to call a good version bad; `beta`:
    chance to accept one of twice the rate. Below 100 stable replies p0 is unknown, and nothing is accepted.
    """
    if stable_n < 100 or not n:
        return False
    p0 = max(floor, stable_k / stable_n)
    p1 = min(0.999, 2.0 * p0)
    if p1 <= p0:
        return False
    likelihood = k * math.log(p1 / p0) + (n - k) * math.log((1.0 - p1) / (1.0 - p0))
    return likelihood <= math.log(beta / (1.0 - alpha))

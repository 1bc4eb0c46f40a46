"""Is this night worse than the pinned baseline, or is it chance?

Decides. In: two tallies and the breaker's lines for nightly findings.  Out: Comparison, with its numbers.
The test is Fisher's exact one, one-sided: the baseline is a sample too. Against a baseline taken for the truth, a model that
did not change would be called worse (+30 %, +1 point, p < .05 at 2 % of 500 prompts) on 15 % of nights; so on 3 %.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from breaker.policy import BreakerPolicy
from breaker.seen import Tally
from breaker.triggers.reading import EXACT


class Standing(StrEnum):
    """Where a model stands against its baseline."""

    NO_BASELINE = "no_baseline"
    TOO_FEW = "too_few"  # not enough judged replies: unknown, moves nothing
    SAME = "same"
    BETTER = "better"
    WORSE = "worse"  # L1: +30 %, +1 point, p < .05
    DOUBLED = "doubled"  # L3 once confirmed: 2x, +3 points, p < .01


BAD = frozenset({Standing.WORSE, Standing.DOUBLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """One class of repetition, tonight against the baseline; `chance` one-sided in the direction it moved."""

    loop_class: str
    tonight: Tally
    baseline: Tally
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`rate` and `baseline` 0..1; a baseline of 0 is read as (k + .5)/(n + 1). `chance`: of so bad
    (BETTER: so good) a night without cause."""

    standing: Standing
    tonight: Tally
    pinned: Tally | None = None
    baseline: float = 0.0
    chance: float = 1.0
    confirmed: bool = False
    """The re-run said the same."""
    shifts: tuple[Shift, ...] = ()

    @property
    def rate(self) -> float:
        return self.tonight.ratio

    @property
    def growth(self) -> float:
        """Tonight's rate as a multiple of the baseline's; 0 without one."""
        return self.rate / self.baseline if self.baseline else 0.0


def at_least(k: int, n: int, others: int, whole: int) -> float:
    """P(X >= k) of `n` drawn from n + `whole` replies of which k + `others` are ill: the hypergeometric tail."""
    ill, size = k + others, n + whole
    if n == 0 or whole == 0 or k == 0:
        return 1.0
    log_all = _log_choose(size, n)
    terms = (
        math.exp(_log_choose(ill, x) + _log_choose(size - ill, n - x) - log_all)
        for x in range(k, min(n, ill) + 1)
        if n - x <= size - ill
    )
    return min(1.0, math.fsum(terms))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def interval(tally: Tally, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate; (0, 1) when nothing was judged."""
    if tally.n == 0:
        return 0.0, 1.0
    n, p = tally.n, tally.ratio
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def baseline_rate(pinned: Tally) -> float:
    """The rate to compare with; a clean baseline still may have a bad reply in it, so zero is read as half a one."""
    return pinned.ratio if pinned.k else 0.5 / (pinned.n + 1)


def compare(
    tonight: Tally,
    pinned: Tally | None,
    policy: BreakerPolicy,
    *,
    min_judged: int,
    classes: Mapping[str, int] | None = None,
    pinned_classes: Mapping[str, int] | None = None,
) -> Comparison:
    """Hold tonight against the baseline by the lines that the breaker will apply to the evidence."""
    if tonight.n < min_judged:
        return Comparison(standing=Standing.TOO_FEW, tonight=tonight, pinned=pinned)
    if pinned is None or pinned.n == 0:
        return Comparison(standing=Standing.NO_BASELINE, tonight=tonight)
    baseline = baseline_rate(pinned)
    chance = at_least(tonight.k, tonight.n, pinned.k, pinned.n)

    def over(growth: float, points: float, line: float) -> bool:
        rate = tonight.ratio
        return rate >= growth * baseline - EXACT and rate - baseline >= points - EXACT and chance < line

    standing = Standing.SAME
    if over(policy.nightly_open_growth, policy.nightly_open_points, policy.nightly_open_chance):
        standing = Standing.DOUBLED
    elif over(policy.nightly_warn_growth, policy.nightly_warn_points, policy.nightly_warn_chance):
        standing = Standing.WORSE
    elif _better(tonight, pinned, policy):
        standing, chance = Standing.BETTER, at_least(pinned.k, pinned.n, tonight.k, tonight.n)
    return Comparison(
        standing=standing,
        tonight=tonight,
        pinned=pinned,
        baseline=baseline,
        chance=chance,
        shifts=_shifts(tonight, pinned, classes or {}, pinned_classes or {}),
    )


def _better(tonight: Tally, pinned: Tally, policy: BreakerPolicy) -> bool:
    fallen = pinned.ratio - tonight.ratio >= policy.nightly_warn_points - EXACT
    return fallen and at_least(pinned.k, pinned.n, tonight.k, tonight.n) < policy.nightly_warn_chance


def _shifts(tonight: Tally, pinned: Tally, now: Mapping[str, int], then: Mapping[str, int]) -> tuple[Shift, ...]:
    """Every class that either night had, the largest move first."""
    found = []
    for name in sorted(set(now) | set(then)):
        a, b = Tally(tonight.n, now.get(name, 0)), Tally(pinned.n, then.get(name, 0))
        worse = a.ratio >= b.ratio
        chance = at_least(a.k, a.n, b.k, b.n) if worse else at_least(b.k, b.n, a.k, a.n)
        found.append(Shift(loop_class=name, tonight=a, baseline=b, chance=chance))
    return tuple(sorted(found, key=lambda shift: -abs(shift.tonight.ratio - shift.baseline.ratio)))

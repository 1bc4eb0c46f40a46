"""What one rule read off the counts: its figure, its line, its sample, and whether it asks for a level."""

from dataclasses import dataclass

from breaker.levels import Level, Reason
from breaker.seen import Tally

EXACT = 1e-9
"""Room for binary fractions: 0.07 x 100 must not come out above 7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`level` is asked for when `fired`; not `known` means below the minimum sample: such a reading moves nothing.

    `value` and `line` share the rule's unit: a ratio 0..1, or a count where the rule counts.
    """

    reason: Reason
    level: Level
    value: float = 0.0
    line: float = 0.0
    n: int = 0
    minimum: int = 0
    known: bool = False
    fired: bool = False
    numbers: tuple[tuple[str, float], ...] = ()


def at_least(k: float, ratio: float, n: float) -> bool:
    """k / n >= ratio, compared as counts."""
    return k >= ratio * n - EXACT


def below(k: float, ratio: float, n: float) -> bool:
    """k / n < ratio, compared as counts."""
    return k < ratio * n - EXACT


def of_ratio(reason: Reason, level: Level, seen: Tally, *, line: float, minimum: int, least: int) -> Reading:
    """k of n against a line: known from `minimum` replies on, fired with at least `least` bad ones."""
    known = seen.n >= minimum
    return Reading(
        reason=reason,
        level=level,
        value=seen.ratio,
        line=line,
        n=seen.n,
        minimum=minimum,
        known=known,
        fired=known and seen.k >= least and at_least(seen.k, line, seen.n),
        numbers=(("ratio", seen.ratio), ("k", seen.k), ("n", seen.n), ("line", line)),
    )

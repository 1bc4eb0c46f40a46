"""The figures a move was made on, in words: for pages and terminals alike.

In:  the numbers of a transition, by `rule.name` or `name`.  Out: word and value of each, in their order.
"""

from collections.abc import Callable, Iterable, Iterator

from breaker.explain import RATIO_RULES
from console.words import Words

RATIOS = frozenset({"ratio", "rate", "baseline", "traffic"})
MOMENTS = frozenset({"until", "since"})


def figures(
    numbers: Iterable[tuple[str, float]], t: Words, *, percent: Callable[[float], str], moment: Callable[[float], str]
) -> Iterator[tuple[str, str]]:
    """`percent` and `moment` say how ratios (0..1) and moments (seconds since the epoch) are written where they are read.

    A name that a newer service knows and we do not is shown as it is. A line is a ratio where its rule counts one.
    """
    for whole, value in numbers:
        rule, _, name = whole.rpartition(".")
        word = t(f"number.{name}") if f"number.{name}" in t else name
        if name in MOMENTS:
            yield word, moment(value)
        elif name in RATIOS or (name == "line" and rule in RATIO_RULES):
            yield word, percent(value)
        else:
            yield word, f"{value:.0f}" if float(value).is_integer() else f"{value:.3g}"

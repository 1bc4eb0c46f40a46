"""When each condition held, in minutes of a scenario: so that a story can say `0-14` and mean it.

In:  what holds at each tick.  Out: by kind, the spans from the minute it began to the minute it was over.
"""

from collections.abc import Iterable

from breaker.conditions import Condition, ConditionKind
from breaker.scenario import minute_of


class Spans:
    """Fed at each tick, in order."""

    def __init__(self) -> None:
        self._open: dict[tuple[ConditionKind, str], int] = {}
        self._over: list[tuple[ConditionKind, int, int]] = []

    def note(self, holding: Iterable[Condition], now_s: float) -> None:
        keys = {condition.key for condition in holding}
        for key in self._open.keys() - keys:
            self._over.append((key[0], self._open.pop(key), minute_of(now_s)))
        for key in keys - self._open.keys():
            self._open[key] = minute_of(now_s)

    def told(self) -> dict[str, list[str]]:
        """`{"phrase_only": ["0-14", "20-"]}`; one that still holds has no end."""
        out: dict[str, list[tuple[int, str]]] = {}
        for kind, began, over in self._over:
            out.setdefault(kind.value, []).append((began, f"{began}-{over}"))
        for (kind, _), began in self._open.items():
            out.setdefault(kind.value, []).append((began, f"{began}-"))
        return {kind: [text for _, text in sorted(spans)] for kind, spans in out.items()}

"""How many attempts of each model are under way in this process, and whether one more may begin.

A backup that suddenly gets another model's traffic must not be knocked over by it (BREAKER.md, Opening safely).
One event loop; no locks.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from router.topology import Model


class Load:
    """Only models with a `max_concurrent` are counted."""

    def __init__(self) -> None:
        self._under_way: Counter[str] = Counter()

    def under_way(self, model: str) -> int:
        return self._under_way[model]

    def full(self, model: Model) -> bool:
        """Whether another candidate has to be asked instead."""
        return model.max_concurrent is not None and self._under_way[model.name] >= model.max_concurrent

    @contextmanager
    def slot(self, model: Model) -> Iterator[None]:
        """Counts one attempt for the time of the block."""
        self._under_way[model.name] += 1
        try:
            yield
        finally:
            self._under_way[model.name] -= 1

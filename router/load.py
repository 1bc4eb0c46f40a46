"""How many attempts of each model are under way in this process, and whether one more may begin.

A backup that suddenly gets another model's traffic must not be knocked over by it (BREAKER.md, Opening safely), by whichever
process. Nobody is asked on the way of a request: each process has its equal part of a model's places. One event loop; no locks.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from router.topology import Model


class Load:
    """Only models with a `max_concurrent` are counted."""

    def __init__(self) -> None:
        self._under_way: Counter[str] = Counter()
        self._processes = 1

    def heard(self, others: int) -> None:
        """So many other processes serve clients now; the last count stands while nobody can be heard."""
        self._processes = 1 + others

    def places(self, model: Model) -> int | None:
        """This process's part of the model's places, at least one; None: as many as come."""
        return None if model.max_concurrent is None else max(1, model.max_concurrent // self._processes)

    def under_way(self, model: str) -> int:
        return self._under_way[model]

    def full(self, model: Model) -> bool:
        """Whether another candidate has to be asked instead."""
        places = self.places(model)
        return places is not None and self._under_way[model.name] >= places

    @contextmanager
    def slot(self, model: Model) -> Iterator[None]:
        """Counts one attempt for the time of the block."""
        self._under_way[model.name] += 1
        try:
            yield
        finally:
            self._under_way[model.name] -= 1

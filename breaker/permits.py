"""The right to make one probe: a small pool leased ahead, so that a request takes a permit without waiting.

A permit is a synchronous scope; left unsettled it is given back.  Its lease ends by itself if the process dies.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class Permit:
    """One probe under `epoch`. Settle it with the result; cancelled, refused and caller's-fault probes stay unsettled."""

    __slots__ = ("_clean", "epoch", "model")

    def __init__(self, model: str, epoch: int) -> None:
        self.model, self.epoch = model, epoch
        self._clean: bool | None = None

    def settle(self, clean: bool) -> None:
        self._clean = clean

    @property
    def result(self) -> bool | None:
        return self._clean


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A permit that came back: its result, or None when it was given back unused."""

    model: str
    epoch: int
    clean: bool | None


class PermitPool:
    """Permits leased by this process, by model. One event loop; no locks. Moments: server time."""

    def __init__(self) -> None:
        self._leased: dict[str, deque[tuple[int, float]]] = {}
        self.returned: deque[Returned] = deque()

    def add(self, model: str, epoch: int, count: int, ends_at: float) -> None:
        self._leased.setdefault(model, deque()).extend([(epoch, ends_at)] * count)

    def unused(self, model: str, epoch: int, now_s: float) -> int:
        """Permits at hand under `epoch`; those of other epochs and ended leases are forgotten: the store takes them back."""
        kept = deque((e, ends) for e, ends in self._leased.get(model, ()) if e == epoch and now_s < ends)
        self._leased[model] = kept
        return len(kept)

    def give_back_all(self) -> None:
        """At shutdown: what was not used may be used by others at once."""
        for model, leased in self._leased.items():
            self.returned.extend(Returned(model=model, epoch=epoch, clean=None) for epoch, _ in leased)
        self._leased.clear()

    @contextmanager
    def take(self, model: str, epoch: int, now_s: float) -> Iterator[Permit | None]:
        """One permit, or None when none is at hand."""
        if not self.unused(model, epoch, now_s):
            yield None
            return
        self._leased[model].popleft()
        permit = Permit(model, epoch)
        try:
            yield permit
        finally:
            self.returned.append(Returned(model=model, epoch=epoch, clean=permit.result))

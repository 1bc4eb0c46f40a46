"""Where a stream must be held so that not too much of a loop is shown, should it turn out to be one.

In:  the engine after a look, then what came since.
Out: the offset at which a hold begins, or None: nothing looks periodic.
"""

from typing import Protocol

from detector.runs import hold_begin, shown_limit
from detector.tail import periods, run_length

_ANCHOR = 6  # characters that must come again for a period to be thought of
_LONGEST = 100  # characters; longer units are suspected by the engine itself
_LEAST = 24
_NOTHING: list[tuple[int, int]] = []  # shared; never added to
_MARGIN = 1  # the first copy often lacks the blank the others begin with


class Engine(Protocol):
    """What a suspicion reads of a Watch; offsets as there."""

    buf: str
    base: int
    hold_at: int | None


class Suspicion:
    """What one engine's text may be the beginning of; renewed at each look."""

    def __init__(self, symbols: int) -> None:
        self._symbols = symbols
        self._begins: list[tuple[int, int]] = []  # (offset where a hold would begin, period; 0: whatever comes)

    def look(self, engine: Engine, at: int, reach: int) -> int | None:
        """Where a hold must begin, judged at offset `at`; suspicions further than `reach` characters ahead can wait."""
        buf, end, hold_at = engine.buf, at - engine.base, engine.hold_at
        if hold_at is None and buf.rfind(buf[end - _ANCHOR : end], max(0, end - _ANCHOR - _LONGEST), end - 1) < 0:
            self._begins = _NOTHING  # what most text is: nothing to think of
            return None
        self._begins = [] if hold_at is None else [(hold_at, 0)]
        if end >= _LEAST:
            for period in periods(buf, end, anchor=_ANCHOR, least=1, most=_LONGEST, tries=3):
                more = shown_limit(period) - period - reach  # beyond the first copy; a shorter run can wait
                if end < more + period or buf[end - more : end] != buf[end - more - period : end - period]:
                    continue
                begin = hold_begin(buf, end, run_length(buf, end, period), period, self._symbols)
                if begin is not None and begin + engine.base - _MARGIN < at + reach:
                    self._begins.append((begin + engine.base - _MARGIN, period))
        return self._first()

    def still(self, buf: str, new: str) -> int | None:
        """The same after `new` has come behind `buf`: a suspicion stays if the text went on with its period."""
        self._begins = [
            (begin, period) for begin, period in self._begins if (buf[len(buf) - period :] + new).startswith(new)
        ]
        return self._first()

    def _first(self) -> int | None:
        if not self._begins:
            return None
        return min(begin for begin, _ in self._begins)

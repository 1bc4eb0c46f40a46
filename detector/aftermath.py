"""While a loop runs: which of the text that still comes is fresh.

In:  the finding, the text it ended, then whatever comes.
Out: how much of what is pending only says the loop again; the rest, once it is long enough to go on with.
"""

from detector.finding import Finding
from detector.text import TOKEN, WORD

_READ = 8000  # characters of a loop whose trigrams are remembered
_GAP = 40  # unknown words in a row after which a loop found by statistics has ended
_RECOVERED = 8  # unknown words that end it, when nothing comes after them

Known = frozenset[tuple[str, str, str]]


class Aftermath:
    """Follows one loop; `pending` is what came and may prove fresh, `suppressed` counts what did not."""

    def __init__(self, found: Finding, loop: str, ended: int) -> None:
        """`loop` is the text from the first copy to absolute offset `ended`, where the loop was seen."""
        self.pending = ""
        self.suppressed = 0
        self._unit = loop[-found.period :] if found.period else ""
        self._ended = ended
        self._known = loop_trigrams(loop)

    def settle(self, at: int) -> int:
        """Drop from `pending`, which ends at absolute offset `at`, what says the loop again; return how much that was."""
        stale = max(fresh_from(self.pending, self._known), self._going_on(at))
        self.pending = self.pending[stale:]
        self.suppressed += stale
        return stale

    def _going_on(self, at: int) -> int:
        """How far an exact run goes on, letter for letter."""
        pending, size = self.pending, len(self._unit)
        if not size:
            return 0
        phase = (at - len(pending) - self._ended) % size
        ring = self._unit * ((len(pending) + phase) // size + 1)
        expect = ring[phase : phase + len(pending)]
        low, high = 0, len(pending)
        while low < high:
            middle = (low + high + 1) >> 1
            low, high = (middle, high) if pending[:middle] == expect[:middle] else (low, middle - 1)
        return low


def loop_trigrams(text: str) -> Known:
    """The token trigrams a loop is made of; at most its last 8,000 characters are read."""
    words = TOKEN.findall(text[-_READ:].casefold())
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def fresh_from(text: str, known: Known) -> int:
    """Offset just past the last place where `text` still says what the loop said."""
    spans = [(m.end(), m.group().casefold()) for m in TOKEN.finditer(text)]
    end, gap = 0, 0
    for (_, a), (_, b), (stop, c) in zip(spans, spans[1:], spans[2:], strict=False):
        if (a, b, c) in known:
            end, gap = stop, 0
        else:
            gap += 1
            if gap > _GAP:
                break
    else:
        if gap < _RECOVERED and end:
            return len(text)
    while end and end < len(text) and WORD.search(text[end]) is None:
        end += 1
    return end

"""The best contiguous repetition of a text, exactly, in O(n log n).

Decides; pure. numpy is imported by the first search, not with the module.
In:  a text, bounds for the unit's length.
Out: PatternMatch, offsets in code points of the text as given; None when nothing repeats.
Why sampling suffices: r copies of period p mean (r-1)p places in a row with s[i] == s[i+p], and such a stretch holds a
multiple of (r-1)p. Testing only those costs sum n/((r-1)p) = O(n log n), and p need never exceed n/r.
"""

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Ints = np.ndarray[Any, np.dtype[Any]]

DEGENERATE_REPEATS = 32
"""`degenerate` wants more copies than this: the threshold the brute-force detector's users know (SPEC §2.4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternMatch:
    """`repeat` whole copies of `pattern` fill `text[start:end]`; `pattern` is the first copy as written."""

    pattern: str
    repeat: int
    start: int
    end: int


def detect(
    text: str | None, min_pattern_len: int = 1, max_pattern_len: int | None = None, *, ignore_case: bool = False
) -> PatternMatch | None:
    """Return the run with most copies; among equals the longer unit, then the earlier start.

    `ignore_case` compares casefolded text. Where folding changes lengths (ß, ligatures) the folded winner counts only
    if its copies begin and end between characters of `text`; otherwise characters are compared one by one.
    Raises ValueError for `min_pattern_len` < 1.
    """
    if min_pattern_len < 1:
        raise ValueError("min_pattern_len must be >= 1")
    text = text or ""
    if not ignore_case:
        return _match(text, _best(_codes(text), min_pattern_len, max_pattern_len))
    folded = text.casefold()
    codes = _codes(folded)
    if len(folded) == len(text):
        return _match(text, _best(codes, min_pattern_len, max_pattern_len))
    aligned = _aligned(text, _best(codes, min_pattern_len, max_pattern_len), min_pattern_len, max_pattern_len)
    return aligned or _match(text, _best(_fold_codes(text), min_pattern_len, max_pattern_len))


def locate(text: str | None, unit: str, *, ignore_case: bool = False) -> PatternMatch | None:
    """Return the longest chain of whole copies of `unit`, the earliest among equals; None when it is not there.

    O(n + m). Raises ValueError for an empty `unit`.
    """
    if not unit:
        raise ValueError("pattern must not be empty")
    text = text or ""
    hay, needle = (text.casefold(), unit.casefold()) if ignore_case else (text, unit)
    places = _places(text) if len(hay) != len(text) else None  # folded offset -> offset in text
    size = len(needle)
    chain: dict[int, int] = {}  # end of a chain -> copies in it
    best, best_end = 0, 0
    for at in _occurrences(hay, needle):
        if places is not None and not (at in places and at + size in places):
            continue  # would begin or end inside one character of the text
        copies = chain.pop(at, 0) + 1
        chain[at + size] = copies
        if (copies, best_end - best * size) > (best, at + size - copies * size):
            best, best_end = copies, at + size
    if not best:
        return None
    start, first_end = best_end - best * size, best_end - (best - 1) * size
    if places is not None:
        start, first_end, best_end = places[start], places[first_end], places[best_end]
    return PatternMatch(pattern=text[start:first_end], repeat=best, start=start, end=best_end)


def degenerate(text: str | None, threshold: int = DEGENERATE_REPEATS) -> bool:
    """Whether some unit stands more than `threshold` times in a row."""
    found = detect(text)
    return found is not None and found.repeat > threshold


def _match(text: str, best: tuple[int, int, int] | None) -> PatternMatch | None:
    if best is None:
        return None
    repeat, unit, start = best
    return PatternMatch(pattern=text[start : start + unit], repeat=repeat, start=start, end=start + repeat * unit)


def _places(text: str) -> dict[int, int]:
    ends = accumulate((len(char.casefold()) for char in text), initial=0)
    return {folded: own for own, folded in enumerate(ends)}


def _aligned(text: str, best: tuple[int, int, int] | None, least: int, most: int | None) -> PatternMatch | None:
    if best is None:
        return None
    repeat, unit, start = best
    places = _places(text)
    cuts = [places.get(start + copy * unit) for copy in range(repeat + 1)]
    known = [cut for cut in cuts if cut is not None]
    if len(known) != len(cuts) or not least <= known[1] - known[0] <= (most or len(text)):
        return None
    return PatternMatch(pattern=text[known[0] : known[1]], repeat=repeat, start=known[0], end=known[-1])


def _occurrences(hay: str, needle: str) -> Any:
    """Every offset of `needle`, overlapping ones too, in O(n + m): str.find alone is quadratic on `aaa…`."""
    if len(needle) == 1:
        at = hay.find(needle)
        while at >= 0:
            yield at
            at = hay.find(needle, at + 1)
        return
    back = _prefix_function(needle)
    size, state = len(needle), 0
    for at, char in enumerate(hay):
        while state and (state == size or needle[state] != char):
            state = back[state - 1]
        state += needle[state] == char
        if state == size:
            yield at - size + 1


def _prefix_function(word: str) -> list[int]:
    back, state = [0] * len(word), 0
    for at in range(1, len(word)):
        while state and word[state] != word[at]:
            state = back[state - 1]
        state += word[state] == word[at]
        back[at] = state
    return back


def _codes(text: str) -> "Ints":
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _fold_codes(text: str) -> "Ints":
    """One number per character, equal for characters with equal folds; long folds get numbers above Unicode."""
    import numpy as np

    known: dict[str, int] = {}
    for char in set(text):
        fold = char.casefold()
        known.setdefault(fold, ord(fold) if len(fold) == 1 else 0x110000 + len(known))
    return np.array([known[char.casefold()] for char in text], dtype=np.uint32)


def _best(codes: "Ints", least: int, most: int | None) -> tuple[int, int, int] | None:
    """The winner as (copies, unit length, start)."""
    from detector.exact_search import best_run

    longest = len(codes) // 2 if most is None else min(most, len(codes) // 2)
    return best_run(codes, least, longest) if longest >= least else None

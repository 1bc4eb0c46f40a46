"""One phrase over and over in one line, told apart by a number that counts on: "1. the same thing, 2. the same thing, ...".

In:  a text and where it ends.
Out: the stretch that counts so, or None. Values differ by any amount; a loop's counter goes by one, if at all.
"""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from detector.text import width

LINE = 240  # characters, as of lines that count
_READ, _NEAR = 2000, 400
_UNIT, _MANY = 12, 48  # width of the letters, fewer name data (Figure 7, part-07.zip); copies from which less is enough
_SHORT = 6  # width of these, marks and all
_TEN = b"0123456789"
_NUMBER = re.compile(r"[0-9]{1,9}")
_MOST = 4  # numbers in one copy
_LAYOUT = frozenset('|{}[]<>=\t\\/"_')
_STEADY = 0.8  # of the steps; a model miscounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Copies that are equal but for their numbers; offsets within the text handed in."""

    start: int
    second: int
    copies: int


def may_count(lines: list[str], items: int) -> bool:
    """Whether one of these whole lines may hold such copies at all: cheap, and never wrong when it says no."""
    return any(_often(line, items) for line in lines if len(line) >= LINE)


def _often(line: str, items: int) -> bool:
    """Whether the same stands between the numbers of a line often enough."""
    raw = line.encode("utf-8", "surrogatepass")
    if len(raw) - len(raw.translate(None, _TEN)) < items:
        return False
    often = Counter(_NUMBER.split(line)[1:-1]).items()
    return any(times >= items - 2 and any(map(str.isalpha, between)) for between, times in often)


def steady(steps: list[int]) -> bool:
    """Whether numbers go on by one, if at all, nearly always: a counter, not values."""
    return any(steps) and sum(-1 <= step <= 1 for step in steps) >= _STEADY * len(steps)


def counted(text: str, end: int, least: int) -> Counted | None:
    """The copies that `text` ends in up to `end`, the last of them begun at least, if they are `least` or more."""
    low = text.rfind("\n", max(0, end - _READ), end) + 1 or max(0, end - _READ)
    if not _again(text, max(low, end - _NEAR), end):
        return None
    numbers = list(_NUMBER.finditer(text, low, end))
    if len(numbers) < least:
        return None
    between = [text[a.end() : b.start()] for a, b in pairwise(numbers)]
    last = text[numbers[-1].end() : end]
    for size in range(1, _MOST + 1):
        if len(between) >= size and between[-size].startswith(last):
            found = _copies(text, numbers, between, size, least)
            if found is not None:
                return found
    return None


def _again(text: str, low: int, end: int) -> bool:
    """Whether what stands between the last numbers stood there before: the cheap look that nearly always says no."""
    numbers = list(_NUMBER.finditer(text, low, end))
    between = [text[a.end() : b.start()] for a, b in pairwise(numbers)]
    sizes = range(1, min(_MOST, len(between) - 2) + 1)
    return any(
        between[-2:] == between[-2 - size : -size] and _worded("".join(between[-size:]), many=True) for size in sizes
    )


def _copies(text: str, numbers: list[re.Match[str]], between: list[str], size: int, least: int) -> Counted | None:
    """The copies of `size` numbers each."""
    same = 0
    for at in range(len(between) - 1, size - 1, -1):
        if between[at] != between[at - size]:
            break
        same += 1
    copies = same // size + 1
    if copies < least or not _worded("".join(between[-size:]), many=copies >= _MANY):
        return None
    first = len(between) - same - size
    values = [int(number.group()) for number in numbers[first:]]
    steps = [after - before for before, after in zip(values, values[size:], strict=False)]
    if not steady(steps):
        return None
    return Counted(start=numbers[first].start(), second=numbers[first + size].start(), copies=copies)


def _worded(unit: str, *, many: bool) -> bool:
    """Whether a copy is one of words, not of data."""
    letters = "".join(filter(str.isalpha, unit))
    long = width(unit) >= _SHORT if many else width(letters) >= _UNIT
    return long and _LAYOUT.isdisjoint(unit) and len(letters) * 5 > len(unit) * 2

"""Whether the lines of a whole text may be a list that goes on by itself; most texts are cleared by counting equal lines.

In:  a text, and the same with its typographic marks blanked.
Out: whether the rules on lines hold anywhere.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import compress, count

from detector.calls import holds_calls
from detector.counting import may_count
from detector.lines import Lines
from detector.text import beyond_ascii

_DIGITS = re.compile(r"\d+")
_MARKS_OF_LISTS = "•·、：，"
_LOWER = bytes(range(256)).lower()
_BARE = bytes(code for code in range(128) if not chr(code).isalpha() and code != 10)
_LISTED = re.compile(r"\d|^[ \t]*[-*+•·#>\"'(\[]")
_EQUAL_LINES = 5  # known ones that six items of one kind leave, or eight of two
_COUNTING = 3  # the same of lines that count on: half as many are enough, one after the other
_THREE = 0b111
_ROW = 0b1_1111_1111  # known ones in a row that a round of items leaves
_ROUND = 16  # the longest round of items
_LEAD = 64  # lines; the rules remember 48


def looping_lines(text: str, bare: str, items: int) -> bool:
    """Whether the rules on lines would hold anywhere; asked of them only where lines are equal but for their numbers.

    `items`: how many lines the profile asks for, 8 at least.
    """
    calls = holds_calls(text)
    lines = text.split("\n")
    if may_count(lines, items):
        return True
    if len(lines) <= _COUNTING:
        return False
    if calls:
        return _loop(lines, ((at, 0) for at in range(len(lines))), items)
    listed = ((at, lead) for at, lead in _come_again(_letters(bare), items) if _LISTED.search(lines[at]))
    return _loop(lines, listed, items)


def _loop(lines: list[str], places: Iterable[tuple[int, int]], items: int) -> bool:
    """Whether the rules hold at one of these lines; the second number is where their memory begins."""
    rules, read = Lines(), 0
    for at, lead in places:
        if read < lead:
            rules, read = Lines(), lead
        rules.take("\n".join(lines[read : at + 1]))
        read = at + 1
        if rules.counts(items) or rules.rotates(items, final=True) or rules.calls(items):
            return True
    return False


def _letters(text: str) -> list[bytes]:
    """The lines without numbers, marks and case: items of one wording are equal then."""
    if not text.isascii():
        text = text.casefold()
        for mark in _MARKS_OF_LISTS:
            text = text.replace(mark, "")
        if any(map(str.isdecimal, beyond_ascii(text))):
            text = _DIGITS.sub("", text)
    return text.encode("utf-8", "surrogatepass").translate(_LOWER, _BARE).split(b"\n")


def _come_again(every: list[bytes], items: int) -> Iterator[tuple[int, int]]:
    """Where of lines in a row nearly all stood shortly before, as in a list that stays or comes round (Lines.rotates).

    Of each line its place, and that of the line from which on the rules have to know what was said.
    """
    lines = list(filter(None, every))  # one without letters is no item
    if len(lines) - len(set(lines)) < _COUNTING:
        return
    last: dict[bytes, int] = {}
    known, places = 0, list(compress(count(), every))
    for at, line in enumerate(lines):
        known = known << 1 & _ROW | (at - last.get(line, -_ROUND - 1) <= _ROUND)
        last[line] = at
        counting = known & _THREE == _THREE and len(set(lines[at - _COUNTING : at + 1])) == 1
        if counting or (
            known.bit_count() >= _EQUAL_LINES
            and (known == _ROW or _stay(lines[max(0, at + 1 - items) : at + 1], items))
        ):
            yield places[at], places[max(0, at - _LEAD)]


def _stay(lines: list[bytes], items: int) -> bool:
    """Whether the last lines are few different ones; two fewer are enough at the end of a text."""
    return any(len(set(lines[-size:])) <= max(1, size // 4) for size in (items - 2, items) if len(lines) >= size)

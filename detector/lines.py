"""Lists that go on by themselves: items that stay or come round again, and lines equal but for their numbers.

In:  the complete lines of a text, in order.
Out: whether they loop now, and from which offset on.
"""

import re
from collections.abc import Callable

from detector.calls import Calls, without_id
from detector.counting import steady
from detector.figures import is_answer
from detector.finding import Finding
from detector.text import width
from detector.verdict import LoopClass, Rule

_LAYOUT = frozenset("|{}[]()<>=;\t\\/")  # lines with these are data, and data counts
_COUNTED = 240  # width; ten short lines that count are an example's output
_BEGUN = 8  # characters of a third line that goes as the two before
_BULLETS = frozenset("-*+•·#")
_LONGEST = 9  # digits of a number that are read
_DIGITS = re.compile(r"\d+")
_ITEM = re.compile(
    r"[ \t]*(?:[-*+•·#>\"'(\[]*[ \t]*)(?:[\d.:/-]+[ \t]*(?:[.)、:：,，\-]|\Z|(?<=:))[ \t]*)?(?P<body>[^\n]*)"
)


class Lines:
    """Follows the lines of one text; remembers the last 48 items."""

    def __init__(self) -> None:
        self._bodies: list[str] = []
        self._plain = ""  # the last line, its numbers as '#'
        self._next: str | None = None  # the item that comes if the items go round
        self._line = ""
        self._counted = 0  # width of these
        self._steps: list[int] = []  # by how much their numbers went on
        self._calls = Calls()
        self._numbered = 0  # lines in a row that equal the one above but for their numbers

    def take(self, text: str) -> None:
        """Read whole lines."""
        for line in text.split("\n"):
            stripped = line.strip()
            if not stripped:
                continue
            body, marked = _item(stripped)
            listed = marked and "|" not in body and any(map(str.isalpha, body))
            self._bodies.append(body if listed and not (is_answered(stripped) or _is_row(stripped)) else "")
            plain = _DIGITS.sub("#", stripped)
            counted = _counts(stripped) and plain != stripped
            same = counted and plain == self._plain
            self._numbered = self._numbered + 1 if same else 0
            self._counted = self._counted + width(stripped) if same else width(stripped)
            self._steps = self._steps + _steps(self._line, stripped) if same else []
            self._plain, self._line = plain, stripped
            self._calls.take(stripped)
        del self._bodies[:-48]
        self._next = _coming(self._bodies)

    @property
    def counting(self) -> bool:
        """Whether the last lines differ in nothing but their numbers."""
        return self._numbered >= 1

    @property
    def expecting(self) -> bool:
        """Whether the next line may make a list suspicious: `expects` is to be asked as it grows."""
        return self._numbered >= 1 or self._next is not None or self._calls.same >= 2

    def rotates(self, items: int, *, final: bool) -> bool:
        """Whether the last items stay or come round again; at the end of a text two fewer are enough."""
        return _rotates(self._bodies, items) or (final and _rotates(self._bodies, items - 2))

    def counts(self, items: int) -> bool:
        """Whether `items` lines in a row differ only in their numbers; half as many if these count on by one, if at all."""
        if self._counted < _COUNTED:
            return False
        return self._numbered >= items - 1 or (self._numbered * 2 >= items - 2 and steady(self._steps))

    def calls(self, items: int) -> bool:
        """Whether the same tool was called with the same arguments too often: half as often as list items may stay."""
        return self._calls.same >= items - 4

    def expects(self, partial: str, *, counting: bool) -> bool:
        """Whether the lines so far and the beginning of the next look like a list that goes on by itself.

        Earlier than `rotates` and `counts`, which are certain: to hold the line, not to cut it.
        """
        begun = partial.strip()
        if (counting and self._numbered >= 1) or self._calls.same >= 2:
            plain = _DIGITS.sub("#", begun)
            if self._plain.startswith(plain) and (self._numbered >= 2 or len(plain) >= _BEGUN):
                return True
        return self._next is not None and self._next.startswith(_item(begun)[0])

    def found(self, buf: str, base: int, end: int, items: int, *, final: bool, counting: bool) -> Finding | None:
        """The finding, if the lines of `buf` (its first character at offset `base`) loop up to `end`.

        `counting`: lines that differ only in their numbers are a loop as well.
        """
        low = max(0, end - 8000)
        if self.rotates(items, final=final):
            whole = end if final else buf.rfind("\n", low, end)
            unit, begin, onset = self._round(buf[low:whole], items)
        elif self.calls(items):
            unit, begin, onset = _back(buf[low:end], self._calls.last, without_id)
        elif counting and self.counts(items):
            unit, begin, onset = _back(buf[low:end], self._plain, lambda line: _DIGITS.sub("#", line))
        else:
            return None
        at = base + low
        return Finding(
            rule=Rule.ENUMERATION, loop_class=LoopClass.FORMAT_RUNAWAY, unit=unit, period=0,
            start=at + begin, onset=at + onset, seen=base + end,
        )  # fmt: skip

    def _round(self, text: str, items: int) -> tuple[str, int, int]:
        """Items that come round: back over those that the last ones hold, one stranger allowed between them."""
        at, lines = 0, []
        for line in text.split("\n"):
            body = _item(line.strip())[0]
            if body:
                lines.append((at, body))
            at += len(line) + 1
        bodies = [body for _, body in lines]
        start = _round_from(bodies, items)
        onset = next((i for i in range(start + 1, len(bodies)) if bodies[i] in bodies[start:i]), start)
        return "\n".join(bodies[start:onset])[:4096], lines[start][0], lines[onset][0]


def _steps(above: str, line: str) -> list[int]:
    """By how much each number of a line is more than the one above it, which is equal but for its numbers."""
    pairs = zip(_DIGITS.findall(above), _DIGITS.findall(line), strict=False)
    return [int(here[-_LONGEST:]) - int(there[-_LONGEST:]) for there, here in pairs]


def _back(text: str, last: str, plain: Callable[[str], str]) -> tuple[str, int, int]:
    """(unit, first line, second) of lines that are `last` in their `plain` form: back over one stranger between two."""
    size = at = begin = onset = len(text)
    strangers = 0
    for line in reversed(text.split("\n")):
        at -= len(line) + (at < size)
        if not line.strip():
            continue
        if plain(line.strip()) == last:
            begin, onset, strangers = at, begin, 0
        elif begin < size and len(line) <= size - at:
            strangers += 1
            if strangers > 1:
                break
    return last, begin, onset


def _item(stripped: str) -> tuple[str, bool]:
    """(what the line says after its mark, whether it has a mark)."""
    match = _ITEM.match(stripped)
    if match is None:
        return "", False
    body = match["body"].strip(" \t.,;:").casefold()
    return body, match.start("body") > 0 and stripped[0] in "0123456789-*+•·#"


def is_answered(stripped: str) -> bool:
    """Whether a line, without the blanks around it, is an answer under a number or alone: bullets answer nothing."""
    return stripped[:1] not in _BULLETS and is_answer(_item(stripped)[0])


def _is_row(stripped: str) -> bool:
    """Whether a line is a row of values parted by commas."""
    return stripped.count(",") - stripped.count(", ") >= 2


def _counts(stripped: str) -> bool:
    """Whether a line that counts would be one of words, not of data."""
    digits = sum(map(str.isdigit, stripped))
    size = width(stripped)
    if size < 12 or digits * 5 > size or "::" in stripped or _is_row(stripped):
        return False
    return _LAYOUT.isdisjoint(stripped) and any(map(str.isalpha, stripped))


def _rotates(bodies: list[str], items: int) -> bool:
    if not bodies or not bodies[-1] or bodies[-1] not in bodies[-17:-1]:
        return False
    last = bodies[-items:]
    if len(last) < items or items < 4 or not all(last):
        return False
    distinct = set(last)
    if len(distinct) <= max(1, items // 4):
        return max(map(len, distinct)) >= 2
    for size in range(2, 17):
        need = max(items * 2, size * 5 // 2)
        wide = bodies[-need:]
        if len(wide) == need and all(wide) and wide[size:] == wide[:-size]:
            return True
    return False


def _round_from(bodies: list[str], items: int) -> int:
    """The first item of the round that the last ones are in."""
    size = next((p for p in range(1, 17) if len(bodies) > p + 3 and bodies[-3:] == bodies[-3 - p : -p]), 0)
    start, misses, looping = len(bodies) - 1, 0, set(bodies[-max(items, size) :])
    for at in range(len(bodies) - 1, -1, -1):
        body, near = bodies[at], bodies[max(0, at - 1) : at + 2]
        if size > 1:
            same = body in looping and (at + size >= len(bodies) or body == bodies[at + size])
        else:
            same = body in looping or near.count(body) > 1
        misses = 0 if same else misses + 1
        if misses > 1:
            break
        start = at if same else start
    return start


def _coming(bodies: list[str]) -> str | None:
    """The next item if the last ones seem to go round: a third of a round, three at least, said again in order."""
    last = bodies[-1] if bodies else ""
    if not last or last not in bodies[-17:-1]:
        return None
    for size in range(1, 17):
        again = max(3, (size + 2) // 3)
        if len(bodies) < again + size:
            return None
        if (
            bodies[-1 - size] == last
            and bodies[-again:] == bodies[-again - size : -size]
            and all(bodies[-again - size :])
        ):
            return bodies[-size]
    return None

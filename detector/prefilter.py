"""Says "surely clean" of ordinary text in a fraction of the engine's time; when unsure it says nothing else.

Whatever a rule of the engine can flag leaves one of these traces: token trigrams said again close together, a long run
of marks, a word of many letters, lines that are equal but for their numbers, or a window poor in characters.
"""

import math
import re

from detector.lines import Lines
from detector.text import CJK, LIST_MARK, spaced, tokens

_MARKS_ONLY = re.compile(r"[\W_]{48,}")
_BLANKS = " " * 112  # of ASCII the symbol rule wants 120
_MARKS, _WORDLESS = 12, re.compile(r"[\W\d_]{120,}")  # list marks alone, which leave no token
_DIGITS = re.compile(r"\d+")
_SAME = re.compile(r"([\W_])\1+")
_TYPOGRAPHIC = "‘’“”–—…"
_NO_DIGITS = {ord(c): None for c in "0123456789"}
_LEAD = "-*+•·#>\"'([ \t.)、:：,;"
_LONGEST_WORD = 23  # four copies of a longer one pass the width of a cycle
_LETTERS = 60  # fewer letters in a window are data, which the char rule leaves alone
_EQUAL_LINES = 5
_ITEMS = 8  # the fewest any profile asks for
_RUN = 7  # known trigrams in a row, and as many as the unit has words: an exact run of words
_DENSE, _SPAN = 24, 40  # no statistical rule acts below 24 known trigrams, nor thinner than 60 % of a window
_NEAR = 2  # units of one or two long words show only a few
_MEMORY = 1100  # tokens; the engine's is at most 1,080


def surely_clean(text: str) -> tuple[str, ...] | None:
    """The last tokens of a text in which no rule can hold; None when one might."""
    ascii_only = text.isascii()
    if _marks_run(text, ascii_only) or _looping_lines(text, ascii_only):
        return None
    if not ascii_only:
        # Without them most English is ASCII, whose road is three times as fast; no token and no rule below minds.
        for mark in _TYPOGRAPHIC:
            text = text.replace(mark, " ")
        ascii_only = text.isascii()
    if _poor(text, ascii_only):
        return None
    plain, marks = LIST_MARK.subn("\n", "\n" + text) if "\n" in text else (text, 0)
    if marks >= _MARKS and _WORDLESS.search(text):
        return None
    words = tokens(plain)
    if words and (max(map(len, words)) > _LONGEST_WORD or _few(words) or _said_again(words)):
        return None
    return tuple(words[-120:])


def _marks_run(text: str, ascii_only: bool) -> bool:
    """Whether marks and blanks stand in a row for as long as the shortest run the symbol rules flag."""
    if ascii_only:
        return _BLANKS in spaced(text)
    return any(len(run) >= len(_BLANKS) or not run.isascii() for run in _MARKS_ONLY.findall(text))


def _looping_lines(text: str, ascii_only: bool) -> bool:
    """Whether the rules on lines would hold anywhere; asked of them only where lines are equal but for their numbers."""
    if text.count("\n") < _EQUAL_LINES:
        return False
    bare = text.translate(_NO_DIGITS) if ascii_only else _DIGITS.sub("", text)
    lines = [line for raw in bare.casefold().split("\n") if len(line := raw.strip(_LEAD)) > 1]
    if len(lines) - len(set(lines)) < _EQUAL_LINES:
        return False
    rules = Lines()
    for line in text.split("\n"):
        rules.take(line)
        if rules.counts(_ITEMS) or rules.rotates(_ITEMS, final=True):
            return True
    return False


def _poor(text: str, ascii_only: bool) -> bool:
    """Whether a window that the char rule looks at shows few different characters."""
    size = len(text)
    for end in [*range(96, size, 96), size]:
        window = text[max(0, end - 120) : end]
        kinds = len(set(window))
        few = kinds <= 16 or (not ascii_only and kinds <= 40 and kinds < _least(text, end, window))
        if few and sum(map(str.isalpha, window)) >= _LETTERS:
            return True
    return False


def _least(text: str, end: int, window: str) -> float:
    """Different characters under which the char rule may hold: 0.65 * 0.65 of what healthy text of this mix shows.

    That is at most 36 letters, digits and marks, and n**0.92 of n CJK characters. Marks said twice in a row are left
    out there, so that the rule's window reaches further back when there are any.
    """
    reach = _SAME.sub(r"\1", text[max(0, end - 720) : end])[-120:] if _SAME.search(window) else window
    return 0.4225 * (math.pow(len(CJK.findall(reach)), 0.92) + 36)


def _few(words: list[str]) -> bool:
    """Whether 32 words in a row are few different ones; any 48 hold 32 that begin at a multiple of 16.

    With 20 numbers among the 32, those 48 are no words to the engine.
    """
    for at in range(0, len(words) - 31, 16):
        window = words[at : at + 32]
        if len(set(window)) <= 11 and sum(map(str.isdigit, window)) < 20:
            return True
    return False


def _said_again(words: list[str]) -> bool:
    grams = list(zip(words, words[1:], words[2:], strict=False))
    if len(grams) - len(set(grams)) < 2:
        return False
    last: dict[tuple[str, str, str], int] = {}
    known: list[int] = []
    near, run = -9, 0
    for i, gram in enumerate(grams):
        before = last.get(gram)
        last[gram] = i
        if before is None or i - before > _MEMORY:
            run = 0
            continue
        known.append(i)
        run += 1
        apart = i - before
        if run >= _RUN and run >= apart - 2:
            return True
        if apart <= _NEAR:
            if near == i - 1:
                return True
            near = i
    return any(b - a < _SPAN for a, b in zip(known, known[_DENSE - 1 :], strict=False))

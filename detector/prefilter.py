"""Says "surely clean" of ordinary text in a fraction of the engine's time; when unsure it says nothing else.

Whatever a rule of the engine can flag leaves one of these traces: token trigrams said again close together, a long run
of marks, a word of many letters, lines that are equal but for their numbers, or a window poor in characters.
"""

import re

from detector.text import LIST_MARK, spaced, tokens

_MARKS_ONLY = re.compile(r"[\W_]{48}")
_BLANKS = " " * 48
_NO_DIGITS = {ord(c): None for c in "0123456789"}
_LEAD = "-*+•·#>\"'([ \t.)、:："
_LONGEST_WORD = 23  # four copies of a longer one pass the width of a cycle
_EQUAL_LINES = 5
_RUN = 7  # known trigrams in a row, and as many as the unit has words: an exact run of words
_DENSE, _SPAN = 24, 40  # no statistical rule acts below 24 known trigrams, nor thinner than 60 % of a window
_NEAR = 2  # units of one or two long words show only a few
_MEMORY = 1100  # tokens; the engine's is at most 1,080


def surely_clean(text: str) -> tuple[str, ...] | None:
    """The last tokens of a text in which no rule can hold; None when one might."""
    ascii_only = text.isascii()
    if (_BLANKS in spaced(text) if ascii_only else _MARKS_ONLY.search(text)) or _equal_lines(text) or _poor(text):
        return None
    words = tokens(LIST_MARK.sub("\n", "\n" + text) if "\n" in text else text)
    if words and (max(map(len, words)) > _LONGEST_WORD or _few(words) or _said_again(words)):
        return None
    return tuple(words[-120:])


def _equal_lines(text: str) -> bool:
    if text.count("\n") < _EQUAL_LINES:
        return False
    lines = [line for raw in text.translate(_NO_DIGITS).split("\n") if len(line := raw.strip(_LEAD)) > 1]
    return len(lines) - len(set(lines)) >= _EQUAL_LINES


def _poor(text: str) -> bool:
    """Whether a window that the char rule looks at shows few different characters."""
    size = len(text)
    least = 16 if text.isascii() else 40
    for end in [*range(96, size, 96), size]:
        if len(set(text[max(0, end - 120) : end])) <= least:
            window = text[max(0, end - 120) : end]
            if len(window) >= 48 and (not window.isascii() or len(set(window)) <= 16):
                return True
    return False


def _few(words: list[str]) -> bool:
    """Whether 32 words in a row are few different ones; any 48 hold 32 that begin at a multiple of 16."""
    return any(len(set(words[at : at + 32])) <= 14 for at in range(0, len(words) - 31, 16))


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

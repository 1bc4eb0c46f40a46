"""Passes over the stretches of a whole text in which no rule can hold, in a fraction of the engine's time.

In:  a Watch that holds the whole text, and the stretch to come.
Out: whether it was passed over; if so the engine's memory is what it would be after checking it step by step.
Says "surely clean", nothing else: whatever a rule can flag leaves one of these traces: token trigrams said again, a
long run of marks, a word of many letters, lines that are equal but for their numbers, a window poor in characters.
"""

import math
import re

from detector.calls import holds_calls
from detector.density import CHAR_STEP, FEW
from detector.lines import Lines
from detector.text import CJK, settled, spaced, unquoted
from detector.watch import Watch

BLOCK = 512  # most characters passed over at a time: 16 checks; larger ones fail as a whole too often
LEAST = 128  # fewest, before the engine itself goes on: 4 checks
_PIECE = 256  # characters
_LONGEST_WORD = 20
"""Letters. Copies inside a longer one may be a word stuck, at 48; and a unit that ends in the word it begins with leaves one
long word at each joint, so few trigrams that four copies of it are not seen yet: from 28 letters on."""
_MARKS = 48  # a run of marks that is not ASCII
_BLANKS = " " * 52  # of ASCII: beside a word of 44 letters, three copies make a block of 100
_MARKS_ONLY = re.compile(r"[\W_]{48,}")
_LIST_MARKS = 3  # numbers in list marks leave no token
_NO_WORD, _NO_LETTERS = re.compile(r"[\W\d_]{120,}"), re.compile(r"[\W\d_]{48,}")
_NUMBERED = re.compile(r"\n[ \t]{0,40}\d{1,9}[ \t]{0,8}[.):]")  # what LIST_MARK takes for a number, in ASCII
_DIGITS = re.compile(r"\d+")
_MARKS_OF_LISTS = "•·、：，"
_LOWER = bytes(range(256)).lower()
_BARE = bytes(code for code in range(128) if not chr(code).isalpha() and code != 10)
_LISTED = re.compile(r"\d|^[ \t]*[-*+•·#>\"'(\[]")
_SAME = re.compile(r"([\W_])\1+")
_LETTERS = 60  # fewer letters in a window are data, which the char rule leaves alone
_EQUAL_LINES = 5
_CALLS = 3  # lines before the fourth call
_ITEMS = 8  # the fewest any profile asks for
_SCORE = 14  # no statistical rule acts below


class Quiet:
    """Decides for one text, stretch by stretch."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        text = watch.buf
        plain = (
            text if text.isascii() else unquoted(text, "\0")
        )  # no blank, which would make a list mark of what follows
        self._text = plain
        self._spaced: str | None = (
            None  # the text with a blank for all that leaves no token, if that can be told so simply
        )
        self._blanks = _BLANKS if text.isascii() else " " * _MARKS
        self._cjk = False
        if plain.isascii():
            self._spaced = spaced(_NUMBERED.sub(_blank, f"\n{plain}")[1:])
            self._any_marks = self._blanks in self._spaced
        else:
            self._cjk = CJK.search(plain) is not None
            self._any_marks = _NO_LETTERS.search(plain) is not None
        watch.follow_lines = watch.follow_lines and _looping_lines(text, plain)
        self._never = watch.follow_lines

    def passes(self, at: int, stop: int) -> bool:
        """Pass over the text from check `at` to check `stop`, if no rule can hold at any check after `at` up to `stop`."""
        watch, words = self._watch, self._watch.words
        if self._never or watch.density.armed is not None or words.score >= _SCORE:
            return False
        if (self._any_marks and self._marked(at, stop)) or self._poor(at, stop):
            return False
        mark = watch.token_at
        new = self._unread(stop)
        if self._ordinary(new, stop - watch.token_at) and words.take(new, words.grams(new), _SCORE) is not None:
            return True
        watch.token_at = mark
        return False

    def _unread(self, stop: int) -> list[str]:
        """What `Watch.unread` gives, from the text prepared as a whole."""
        watch, new = self._watch, list[str]()
        if self._spaced is None:
            # Piece by piece: most of a text that is not all ASCII is, and that takes the faster road.
            for end in range(watch.token_at + _PIECE, stop, _PIECE):
                new += watch.unread(end)
            return new + watch.unread(stop)
        begin = watch.token_at
        watch.token_at = end = max(begin, settled(watch.buf, begin, stop))
        return self._spaced[begin:end].split()

    def _ordinary(self, new: list[str], left: int) -> bool:
        """Whether the words are many and short; `left`: characters of a word that may go on after them."""
        if not new or left > _LONGEST_WORD or max(map(len, new)) > _LONGEST_WORD:
            return False
        return not _few(self._watch.words.tokens[-47:] + new)

    def _marked(self, at: int, stop: int) -> bool:
        """Whether marks and blanks stand in a row for as long as the shortest run that any rule flags."""
        low = max(0, at - 120)
        if self._spaced is not None:
            return self._blanks in self._spaced[low:stop]
        piece = self._text[low:stop]
        if piece.count("\n") >= _LIST_MARKS and _NO_WORD.search(piece):
            return True
        return any(len(run) >= len(_BLANKS) or not run.isascii() for run in _MARKS_ONLY.findall(piece))

    def _poor(self, at: int, stop: int) -> bool:
        """Whether a window that the char rule looks at shows few different characters."""
        text = self._text
        most, part = (40, 72) if self._cjk else (16, 48)
        for end in range(at - at % CHAR_STEP + CHAR_STEP, stop + 1, CHAR_STEP):
            kinds = len(set(text[end - part : end]))  # a part of the window is enough nearly always
            low = max(0, end - 120)
            if kinds > most or (kinds > 16 and self._watch.buf[low:end].isascii()):
                continue
            window = text[low:end]
            kinds = len(set(window))
            few = kinds <= 16 or (self._cjk and kinds <= 40 and kinds < _least(text, end, window))
            if few and sum(map(str.isalpha, window)) >= _LETTERS:
                return True
        return False


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _looping_lines(text: str, bare: str) -> bool:
    """Whether the rules on lines would hold anywhere; asked of them only where lines are equal but for their numbers."""
    calls = holds_calls(text)
    if text.count("\n") < (_CALLS if calls else _EQUAL_LINES):
        return False
    if not calls and _equal(bare) < _EQUAL_LINES:
        return False
    lines = [(line, calls or _LISTED.search(line) is not None) for line in text.split("\n")]
    if not calls and _equal("\n".join(line for line, listed in lines if listed)) < _EQUAL_LINES:
        return False
    rules, last = Lines(), ""
    for line, listed in lines:
        if not listed:
            last = line if line.strip() else last  # of lines without number or mark in a row only the last one matters
            continue
        rules.take(f"{last}\n{line}" if last else line)
        last = ""
        if rules.counts(_ITEMS) or rules.rotates(_ITEMS, final=True) or rules.calls(_ITEMS):
            return True
    return False


def _equal(text: str) -> int:
    """How many lines that hold letters equal an earlier one, but for numbers, marks and case."""
    if not text.isascii():
        text = _DIGITS.sub("", text.casefold())
        for mark in _MARKS_OF_LISTS:
            text = text.replace(mark, "")
    lines = text.encode("utf-8", "surrogatepass").translate(_LOWER, _BARE).split(b"\n")
    return len(lines) - len(set(lines)) - max(0, lines.count(b"") - 1)


def _least(text: str, end: int, window: str) -> float:
    """Different characters under which the char rule may hold: 0.65 * 0.65 of what healthy text of this mix shows.

    That is at most 36 letters, digits and marks, and n**0.92 of n CJK characters. Marks said twice in a row are left
    out there, so that the rule's window reaches further back when there are any.
    """
    reach = _SAME.sub(r"\1", text[max(0, end - 720) : end])[-120:] if _SAME.search(window) else window
    return 0.4225 * (math.pow(len(CJK.findall(reach)), 0.92) + 36)


def _few(words: list[str]) -> bool:
    """Whether 48 words in a row may be few different ones: they hold 24 that begin at a multiple of 24, all of few kinds."""
    for at in range(0, len(words) - 23, 24):
        if len(set(words[at : at + 24])) <= FEW:
            # Any 48 around hold 45 that begin at a multiple of 4.
            around = (words[low : low + 45] for low in range(max(0, at - 24), at + 1, 4))
            if any(len(each) == 45 and len(set(each)) <= FEW and sum(map(str.isdigit, each)) < 20 for each in around):
                return True
    return False

"""Brings the engine through a whole text by the stretches in which a rule may hold; past the others it does not look.

In:  a Watch that holds the whole text.
Out: the offsets at which it has to check; its memory there is what it would be after checking all before, step by step.
Says "surely clean", nothing else: whatever a rule can flag leaves one of these traces: token trigrams said again, a
long run of marks, a word of many letters, lines that are equal but for their numbers, a window poor in characters.
"""

import math
import re
from collections.abc import Iterator

from detector.alike import looping_lines
from detector.density import CHAR_STEP, GOING
from detector.runs import SHOUT, SHOUTED
from detector.text import CJK, LIST_MARK, beyond_ascii, blanked, settled, tokens, unquoted, words_of
from detector.trace import Span, few_words, said_again
from detector.watch import STEP, Watch

_LONG_WORD = 20
"""Letters. A unit that ends in the word it begins with leaves one long word at each joint, so few trigrams that four copies
of it are not seen: from 28 letters on."""
_JOINT = 5  # tokens within which such a word comes again
_STUCK_WORD = 48  # letters; copies inside one may be a word stuck; one of 64 may be cut (`settled`)
_PART = 32  # letters of a word that is cut, at least
_SHORT_RUN, _LONG_RUN = (
    52,
    120,
)  # marks: beside a word of 44 letters three copies make a block; no symbols are flagged below
_NEAR_RUN = 1000  # characters within which such a run of one unit comes again
_LEAST_RUN, _BLANKS = " " * 48, re.compile(" {48,}")  # the shortest run of marks that is flagged if they are not ASCII
_MARKS = re.compile(r"[\W_]{48,}")
_NO_WORD = re.compile(r"[\W\d_]{120,}")
_LIST_MARKS = 3  # numbers in list marks leave no token
_SAME = re.compile(r"([\W_])(?=\1)")
_LETTERS = 60  # fewer letters in a window are data, which the char rule leaves alone
_CLOSE = 3 * STEP  # characters before a stretch from which the engine itself goes on


class Quiet:
    """Decides for one text. `loud`: nothing can be passed over."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.loud = False

    def prepared(self) -> Iterator[None]:
        """To be gone through before all else: looks at the whole text, in parts between which others may be served."""
        watch = self._watch
        text, profile = watch.buf, watch.profile
        self._plain = plain = text if text.isascii() else unquoted(text, "\0")  # no blank: it would make a list mark
        watch.follow_lines = self.loud = watch.follow_lines and looping_lines(text, plain, profile.list_items)
        if self.loud:
            return
        yield
        others = beyond_ascii(plain)
        self._cjk = any(map(CJK.match, others))
        self._spaced = blanked(plain, others)
        self._words = words = (
            tokens(LIST_MARK.sub("\n", f"\n{text}")) if self._spaced is None else words_of(self._spaced, cjk=self._cjk)
        )
        yield
        self._trace = trace = said_again(words, statistics=profile.statistics)
        yield
        spans, self._cut = _long_words(words)
        vocabulary = profile.statistics and profile.char_rule
        spans += trace.spans
        spans += few_words(words) if vocabulary else ()
        self._by_words = _merged(spans)
        yield
        self._by_chars = _merged([*self._runs_of_marks(), *(self._poor() if vocabulary else ())])
        self._per_word = len(text) / max(1, len(words))

    def checks(self, last: int) -> Iterator[int]:
        """Offsets to check, in order, up to the check at `last`; each is to be checked before the next is asked for."""
        at = 0
        while (at := self._approach(at, last)) < last:
            at += STEP
            yield at

    def close(self, last: int) -> None:
        """After these, bring the engine before its look at the end of the text."""
        watch, words = self._watch, self._watch.words
        if self._trace.score >= GOING or self._cut:
            new = self._unread(last)
            words.take(new, words.grams(new))
        else:
            words.resume(self._words, self._trace.score, self._trace.befores)
            watch.token_at = len(watch.buf)

    def _approach(self, at: int, last: int) -> int:
        """Pass from check `at` on to the last one before something may hold; `last` if nothing may."""
        words = self._watch.words
        if self._watch.density.armed is not None:
            return at
        reach = 1.0
        while True:
            while self._by_words and self._by_words[0][1] < words.count:
                self._by_words.pop(0)
            while self._by_chars and self._by_chars[0][1] < at + STEP:
                self._by_chars.pop(0)
            if not self._by_words and not self._by_chars:
                return last
            stop = last if not self._by_chars else min(last, (self._by_chars[0][0] - 1) // STEP * STEP)
            if self._by_words:
                near = int((self._by_words[0][0] - words.count) * self._per_word * reach) - _CLOSE
                stop = min(stop, at + near // STEP * STEP)
            if stop <= at:
                return at
            if self._pass(stop):
                at = stop
            else:
                reach /= 2

    def _pass(self, stop: int) -> bool:
        """Read the words up to check `stop`, unless some of the next stretch are among them."""
        watch, words = self._watch, self._watch.words
        mark, new = watch.token_at, self._unread(stop)
        if self._by_words and words.count + len(new) >= self._by_words[0][0]:
            watch.token_at = mark
            return False
        words.take(new, words.grams(new))
        return True

    def _unread(self, stop: int) -> list[str]:
        """What `Watch.unread` gives, from the text prepared as a whole."""
        watch = self._watch
        if self._spaced is None:
            return watch.unread(stop)
        begin = watch.token_at
        watch.token_at = end = max(begin, settled(watch.buf, begin, stop))
        return words_of(self._spaced[begin:end], cjk=self._cjk)

    def _runs_of_marks(self) -> list[Span]:
        """Where marks and blanks stand in a row for as long as the shortest run that any rule flags."""
        spaced, text, runs = self._spaced, self._plain, list[Span]()
        if spaced is None:
            runs = [run.span() for run in _MARKS.finditer(text)]
            runs += (run.span() for run in _NO_WORD.finditer(text) if run[0].count("\n") >= _LIST_MARKS)
        elif _LEAST_RUN in spaced:
            runs = [run.span() for run in _BLANKS.finditer(spaced)]
        return [span for at, run in enumerate(runs) for span in self._flagged(run, runs[max(0, at - 4) : at])]

    def _flagged(self, run: Span, before: list[Span]) -> Iterator[Span]:
        """Where a rule may hold because of this run of marks; `before`: the runs that come before it."""
        text, (begin, end) = self._watch.buf, run
        marks = text[begin:end]
        if end - begin >= _LONG_RUN or not marks.isascii() or sum(map(marks.count, SHOUTED)) >= SHOUT:
            yield begin, end + STEP
        for low, high in before:
            if end - begin >= _SHORT_RUN and begin - low <= _NEAR_RUN and text[low:high] == marks:
                yield begin, end + _NEAR_RUN

    def _poor(self) -> Iterator[Span]:
        """Where a window that the char rule looks at shows few different characters."""
        text, cjk = self._plain, self._cjk
        ends = range(CHAR_STEP, len(text) + 1, CHAR_STEP)
        if cjk:
            poor = [end for end in ends if len(set(text[end - 72 : end])) <= (16 if self._ascii(end) else 40)]
        else:  # a part of the window is enough nearly always
            poor = [end for end in ends if len(set(text[end - 48 : end])) <= 16]
        for end in poor:
            window = text[max(0, end - 120) : end]
            kinds = len(set(window))
            few = kinds <= 16 or (cjk and not self._ascii(end) and kinds < _least(text, end, window))
            if few and sum(map(str.isalpha, window)) >= _LETTERS:
                yield end, end + STEP

    def _ascii(self, end: int) -> bool:
        return self._watch.buf[max(0, end - 120) : end].isascii()


def _merged(spans: list[Span]) -> list[Span]:
    """In order, those that overlap made one."""
    out: list[Span] = []
    for low, high in sorted(spans):
        if out and low <= out[-1][1] + 1:
            out[-1] = out[-1][0], max(high, out[-1][1])
        else:
            out.append((low, high))
    return out


def _long_words(words: list[str]) -> tuple[list[Span], bool]:
    """Where a long word may hide a rule, in tokens; whether the engine may cut one."""
    if not words or max(map(len, words)) <= _LONG_WORD:
        return [], False
    spans, parts, cut = list[Span](), 0, False
    for at, word in enumerate(words):
        if len(word) >= _STUCK_WORD:
            cut = True
            parts += len(word) // _PART
            spans.append((at, at + parts + _JOINT))
        elif len(word) > _LONG_WORD and word in words[max(0, at - _JOINT) : at]:
            spans.append((at, at + parts + _JOINT))
    if cut:  # the engine counts more tokens than stand here
        spans.append((len(words), len(words) + parts))
    return spans, cut


def _least(text: str, end: int, window: str) -> float:
    """Different characters under which the char rule may hold: 0.65 * 0.65 of what healthy text of this mix shows.

    That is at most 36 letters, digits and marks, and n**0.92 of n CJK characters. Marks said twice in a row are left
    out there, so that the rule's window reaches further back when there are any.
    """
    reach = _SAME.sub("", text[max(0, end - 720) : end])[-120:] if _SAME.search(window) else window
    return 0.4225 * (math.pow(len(CJK.findall(reach)), 0.92) + 36)

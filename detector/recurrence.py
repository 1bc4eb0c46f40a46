"""Which token trigrams of a text were said before, and how densely of late.

In:  the tokens of a text, in order, in portions of any size; the state after them does not depend on the portions.
Out: how many trigrams of a portion were known, a running score of known against new ones, the last tokens.
"""

from itertools import compress, count
from operator import ne

MEMORY = 1000  # tokens: a trigram said longer ago counts as new. Five copies of a paragraph of 200 words
WINDOW = 120  # tokens the statistical rules look at (DETECTION.md section 1)
_NEAR = 20  # tokens
CAP = 400.0

Gram = tuple[str, str, str]


class Recurrence:
    """Follows the tokens of one text in bounded memory.

    `score` goes up 1 for a trigram said before and down 2 for a new one, never below 0: it is high where nearly all was
    said before. `verbatim` counts the known trigrams in a row up to now.
    """

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.score = 0.0
        self.near = 0.0
        self.thrice = 0.0
        self.verbatim = 0
        self._last: dict[Gram, int] = {}  # where each trigram was said last, counted in tokens
        self._twice: set[Gram] = set()
        self._said: list[int] = []  # where each known trigram of late was said before
        self.count = 0  # tokens taken so far

    def window(self) -> list[str]:
        """The last tokens, at most WINDOW."""
        return self.tokens[-WINDOW:]

    def share(self, size: int = WINDOW) -> float:
        """1 - distinct / all trigrams of the last `size` tokens; 0 below three."""
        size = min(size, len(self.tokens), WINDOW)
        if size <= 2:
            return 0.0
        # What was said before within these tokens is said again within them, so it is among as many of the last known ones.
        return sum(map((self.count - size + 2).__le__, self._said[-size:])) / (size - 2)

    def grams(self, new: list[str]) -> list[Gram]:
        """The trigrams that end in one of the `new` tokens."""
        words = self.tokens[-2:] + new
        return list(zip(words, words[1:], words[2:], strict=False))

    def take(self, new: list[str], grams: list[Gram]) -> int:
        """Add `new` tokens, whose trigrams are `grams`; return how many of these were known."""
        last, size = self._last, len(grams)
        first = self.count + len(new) - size
        # One pass at C speed: a new trigram gives back its own place, a known one where it was said before.
        places = list(map(last.setdefault, grams, count(first)))
        own = list(range(first, first + size))
        if places == own:
            self._all_new(size)
            self._add(new)
            return 0
        where = self._again(grams, places, own)
        known = self._weigh(where, first, size)
        self._note_third(grams, where, first)
        self._said += [before for _, before in where]
        self._add(new)
        return known

    def resume(self, tokens: list[str], score: float, befores: list[int]) -> None:
        """Remember what taking all these `tokens` leaves that the last look at a text needs (Trace): no trigram of them."""
        self.tokens, self.count, self.score = tokens[-WINDOW:], len(tokens), score
        self._said = befores[-WINDOW:]

    def _all_new(self, size: int) -> None:
        """Account for `size` trigrams that were never said."""
        if size and (self.near or self.verbatim or self.thrice):
            self.score, self.near = max(0.0, self.score - 2.0 * size), max(0.0, self.near - size)
            self.thrice, self.verbatim = max(0.0, self.thrice - 2.0 * size), 0
        elif size and self.score:
            self.score = max(0.0, self.score - 2.0 * size)

    def _add(self, new: list[str]) -> None:
        """Take `new` tokens in, and forget what is too old to count."""
        self.count += len(new)
        self.tokens += new
        if len(self.tokens) > 4 * WINDOW:
            del self.tokens[:-WINDOW]
        if len(self._said) > 4 * WINDOW:
            floor = self.count - WINDOW
            self._said = [place for place in self._said if place >= floor]
        last = self._last
        if len(last) > 4 * MEMORY:
            self._last = {gram: at for gram, at in last.items() if at >= self.count - MEMORY}
            self._twice &= self._last.keys()

    def _note_third(self, grams: list[Gram], where: list[tuple[int, int]], first: int) -> None:
        """Keep account of what is said for the third time, as `score` does of the second."""
        twice, thrice, due = self._twice, self.thrice, first
        for at, before in where:
            gram = grams[at - first]
            if at - before > MEMORY:
                twice.discard(gram)
            elif gram in twice:
                thrice = min(CAP, max(0.0, thrice - 2.0 * (at - due)) + 1.0)
                due = at + 1
            else:
                twice.add(gram)
        self.thrice = max(0.0, thrice - 2.0 * (first + len(grams) - due))

    def _again(self, grams: list[Gram], places: list[int], own: list[int]) -> list[tuple[int, int]]:
        """(here, where it was said last) for each known trigram; notes that it was said here."""
        last, where, first = self._last, [], own[0]
        for at in compress(own, map(ne, places, own)):
            gram = grams[at - first]
            where.append((at, last[gram]))
            last[gram] = at
        return where

    def _weigh(self, where: list[tuple[int, int]], first: int, size: int) -> int:
        """Account for `size` trigrams, those in `where` said (here, before); return how many of these count as known."""
        score, near, verbatim, known, due = self.score, self.near, self.verbatim, 0, first
        for at, before in where:
            apart = at - before
            if apart > MEMORY:
                continue
            if at > due:
                score, near, verbatim = max(0.0, score - 2.0 * (at - due)), max(0.0, near - (at - due)), 0
            due = at + 1
            known += 1
            verbatim += 1
            score = min(score + 1.0, CAP)
            near = min(near + 1.0, CAP) if apart <= _NEAR else max(0.0, near - 1.0)
        rest = first + size - due
        if rest:
            score, near, verbatim = max(0.0, score - 2.0 * rest), max(0.0, near - rest), 0
        self.score, self.near, self.verbatim = score, near, verbatim
        return known


def unit_left(apart: int) -> int:
    """Known trigrams in a row, said so many tokens before, without which no exact rule holds: three copies leave 2 * unit - 2.

    Of longer units fewer: the words at their joints may merge into one.
    """
    return max(1, 2 * apart - 2) if apart <= 4 else max(7, apart - 2)

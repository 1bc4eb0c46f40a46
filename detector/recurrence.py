"""Which token trigrams of a text were said before, and how densely of late.

In:  the tokens of a text, in order, in portions of any size; the state after them does not depend on the portions.
Out: how many trigrams of a portion were known, a running score of known against new ones, the last tokens.
"""

import math
from itertools import compress, count
from operator import ne

MEMORY = 1000  # tokens: a trigram said longer ago counts as new. Five copies of a paragraph of 200 words
WINDOW = 120  # tokens the statistical rules look at (DETECTION.md section 1)
_NEAR = 20  # tokens
_CAP = 400.0

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
        self._count = 0

    def window(self) -> list[str]:
        """The last tokens, at most WINDOW."""
        return self.tokens[-WINDOW:]

    def share(self, size: int = WINDOW) -> float:
        """1 - distinct / all trigrams of the last `size` tokens; 0 below three."""
        size = min(size, len(self.tokens), WINDOW)
        floor = self._count - size + 2
        return sum(place >= floor for place in self._said) / (size - 2) if size > 2 else 0.0

    def grams(self, new: list[str]) -> list[Gram]:
        """The trigrams that end in one of the `new` tokens."""
        words = self.tokens[-2:] + new
        return list(zip(words, words[1:], words[2:], strict=False))

    def take(self, new: list[str], grams: list[Gram], ceiling: float = math.inf) -> int | None:
        """Add `new` tokens, whose trigrams are `grams`; return how many of these were known.

        With a `ceiling`, which the score is below so far: None, and nothing is changed, if the score would reach it on the way or if known trigrams stand
        as copies do: in a row, as many as a unit that was said so long before would leave.
        """
        last, size = self._last, len(grams)
        first = self._count + len(new) - size
        # One pass at C speed: a new trigram gives back its own place, a known one where it was said before.
        places = list(map(last.setdefault, grams, count(first)))
        own = list(range(first, first + size))
        if places == own:
            self._all_new(size)
            self._add(new)
            return 0
        where = self._again(grams, places, own)
        weighed = self._weigh(where, first, size, ceiling)
        if weighed is None:
            for gram, place, at in zip(reversed(grams), reversed(places), reversed(own), strict=True):
                if place == at:
                    del last[gram]
                elif place < first:
                    last[gram] = place
            return None
        self.score, self.near, self.verbatim, known = weighed
        self._note_third(grams, where, first)
        self._said += [before for _, before in where]
        self._add(new)
        return known

    def _all_new(self, size: int) -> None:
        """Account for `size` trigrams that were never said."""
        if size and (self.near or self.verbatim or self.thrice):
            self.score, self.near = max(0.0, self.score - 2.0 * size), max(0.0, self.near - size)
            self.thrice, self.verbatim = max(0.0, self.thrice - 2.0 * size), 0
        elif size and self.score:
            self.score = max(0.0, self.score - 2.0 * size)

    def _add(self, new: list[str]) -> None:
        """Take `new` tokens in, and forget what is too old to count."""
        self._count += len(new)
        self.tokens += new
        if len(self.tokens) > 4 * WINDOW:
            del self.tokens[:-WINDOW]
        if len(self._said) > 4 * WINDOW:
            floor = self._count - WINDOW
            self._said = [place for place in self._said if place >= floor]
        last = self._last
        if len(last) > 4 * MEMORY:
            self._last = {gram: at for gram, at in last.items() if at >= self._count - MEMORY}
            self._twice &= self._last.keys()

    def _note_third(self, grams: list[Gram], where: list[tuple[int, int]], first: int) -> None:
        """Keep account of what is said for the third time, as `score` does of the second."""
        twice, thrice, due = self._twice, self.thrice, first
        for at, before in where:
            gram = grams[at - first]
            if at - before > MEMORY:
                twice.discard(gram)
            elif gram in twice:
                thrice = min(_CAP, max(0.0, thrice - 2.0 * (at - due)) + 1.0)
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

    def _weigh(
        self, where: list[tuple[int, int]], first: int, size: int, ceiling: float
    ) -> tuple[float, float, int, int] | None:
        """Score, near, verbatim and number of known ones after `size` trigrams, those in `where` said (here, before)."""
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
            score = min(score + 1.0, _CAP)
            near = min(near + 1.0, _CAP) if apart <= _NEAR else max(0.0, near - 1.0)
            if score >= ceiling or (ceiling < _CAP and verbatim >= _copied(apart)):
                return None
        rest = first + size - due
        if rest:
            score, near, verbatim = max(0.0, score - 2.0 * rest), max(0.0, near - rest), 0
        return score, near, verbatim, known


def _copied(unit: int) -> int:
    """Known trigrams in a row at this distance without which no exact rule holds: three copies leave 2 * unit - 2."""
    return max(1, 2 * unit - 2) if unit <= 4 else max(7, unit - 2)

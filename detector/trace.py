"""Where the tokens of a whole text say so much again that a rule may hold; the rest is surely clean.

In:  all tokens of a text, in order.
Out: spans of token counts at which the engine has to look, and what the engine remembers at the end.
One pass at C speed finds the trigrams that were said before; only those, a tenth of most texts, are looked at one by one.
What each rule needs at least: detector/density.py and detector/runs.py; held to the engine by tests/unit/detector/test_quiet.py.
"""

from dataclasses import dataclass, field
from itertools import compress
from operator import is_not

from detector.density import FEW, GOING, PLENTY, THRICE, VERBATIM
from detector.recurrence import CAP, MEMORY, WINDOW, unit_left

Span = tuple[int, int]
"""First and last token count of a stretch."""

_WINDOW, _RECENT = WINDOW - 2, 48  # trigrams of the two windows that the trigram rule looks at
_SLACK = 2  # tokens after a copy's last one by which the engine looks at the latest
_WORDS = 48
_ENOUGH = 18  # of 24 words: these are different enough nearly always
_NUMBERS = 20  # in 45 words: data


@dataclass(slots=True)
class Trace:
    """What was said again. `score` and `befores` (where it was said before) are the engine's own, after the last token."""

    spans: list[Span] = field(default_factory=list)
    score: float = 0.0
    befores: list[int] = field(default_factory=list)


def said_again(words: list[str], *, statistics: bool) -> Trace:
    """Follow the trigrams of a whole text. `statistics`: whether the rules on density are on."""
    first_said: dict[tuple[str, str, str], int] = {}
    here = list(range(len(words) - 2))
    # A new trigram gives back its own place, the very same number; a known one where it was said first.
    places = list(map(first_said.setdefault, zip(words, words[1:], words[2:], strict=False), here))
    trace, spans = Trace(), list[Span]()
    last: dict[int, int] = {}  # of each trigram by its first place
    known: list[int] = []
    score, due, row, before_row, verbatim = 0.0, 0, 0, -2, 0
    thrice, thrice_due = 0.0, 0
    for at in compress(here, map(is_not, places, here)):
        first = places[at]
        before = last.get(first, first)
        if before != first:
            thrice, thrice_due = max(0.0, thrice - 2.0 * (at - thrice_due)) + 1.0, at + 1
        last[first] = at
        row = row + 1 if at == before_row + 1 else 1
        before_row = at
        if row >= unit_left(at - before):
            spans.append((at + 3, at + 3 + _SLACK))
        if at - before > MEMORY:
            continue
        if at > due:
            score -= 2.0 * (at - due)
            if score < 0:
                score = 0.0
            verbatim = 0
        due, verbatim = at + 1, verbatim + 1
        if score < CAP:
            score += 1.0
        known.append(at)
        trace.befores.append(before + 2)  # counted by its last token
        if statistics and score >= GOING and _dense(known, score, verbatim, thrice - 2.0 * (at + 1 - thrice_due)):
            spans.append((at + 3, at + 3 + int(score - GOING) // 2 + 1))
    trace.score = max(0.0, score - 2.0 * (len(places) - due))
    trace.spans = spans
    return trace


def _dense(known: list[int], score: float, verbatim: int, thrice: float) -> bool:
    """Whether the trigram rule may hold at its last known trigram: nowhere before the next one is more known."""
    if _filled(known, 0.6, _WINDOW):
        return True
    if not (verbatim >= VERBATIM or _filled(known, 0.4, _WINDOW)):
        return False
    return (score >= PLENTY and thrice >= THRICE) or (score >= 24 and _filled(known, 0.62, _RECENT))


def _filled(known: list[int], share: float, window: int) -> bool:
    """Whether more than this share of the last `window` trigrams is known; of a text's beginning, of all."""
    here, size = known[-1], len(known)
    if here < window:
        return size / (here + 1) > share
    least = int(share * window) + 1
    return size >= least and here - known[-least] < window


def few_words(words: list[str]) -> list[Span]:
    """Where 48 words in a row may be few different ones: they hold 24 that begin at a multiple of 24, all of few kinds."""
    spans = []
    for at in range(0, len(words) - 23, 24):
        if len(set(words[at : at + _ENOUGH])) <= FEW and len(set(words[at : at + 24])) <= FEW:
            # Any 48 around hold 45 that begin at a multiple of 4.
            around = (words[low : low + 45] for low in range(max(0, at - 24), at + 1, 4))
            if any(len(each) == 45 and len(set(each)) <= FEW and _worded(each) for each in around):
                spans.append((at + 24, at + 24 + _WORDS))
    return spans


def _worded(words: list[str]) -> bool:
    return sum(map(str.isdigit, words)) < _NUMBERS

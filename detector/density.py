"""Repetition told by statistics: nearly everything was said before, or is said with too few words or characters.

In:  the tail of a text and its Recurrence, at every check.
Out: the rule that holds for the second check in a row; `suspicious` says that text had better be held meanwhile.
Thresholds: DETECTION.md section 1; tuned on the dev corpora and on public answers of strong models (docs/detection.md).
"""

import re

from detector.figures import is_answer, wordy
from detector.lines import is_answered
from detector.metrics import char_repeat, duplicate_share, trigram_repeat
from detector.profile import Profile
from detector.recurrence import Recurrence
from detector.runs import SEPARATORS
from detector.tail import KEEP
from detector.text import LIST_MARK, WORD, plain_lines, shape, tokens
from detector.verdict import Rule

CHAR_STEP = 96  # characters between two looks at the last 120
_USUAL = 0.6  # trigram_repeat of every profile that names none
_CODE = "(){}[]=<>;_/\\|:@"
VERBATIM = 40  # trigrams in a row
# Of verse, trigrams in a row: songs say something new in each verse, 38 at the latest; a refrain so often is an exact copy.
_STANZAS = 48
FEW = 12  # different words in 48, for which a reply is cut: healthy prose shows three times as many, and never under 17
_FEW_OF = ((24, 10), (28, 12), (32, 13), (36, 15))  # words, and how many different ones are suspicious
_FEWEST = max(most for _, most in _FEW_OF) + 1
_LISTED = -2  # words
_DRILLED = 6  # whole lines in 300 characters
_DIGITS = re.compile("[0-9]+")
_ENTRY, _LABEL = re.compile("[\n;；]"), re.compile("[:：]")
_ENDING = 0.12  # how much less of the last words must be said before where a text ends
_MOVES = 0.24  # figures among the words of short lines: the moves of a puzzle
_KEYS = 10  # answers in a row
_CJK_NUMERALS = frozenset("零一二三四五六七八九十百千两")
_BASES = frozenset("ACGTUN \n")  # genes are made of few letters
_DATA_OF = (16, 4)  # the same of what stands in quotes
GOING = 14  # score below which the trigram rule never holds
PLENTY = 60  # score from which what is said for the third time is enough
THRICE = 16.0  # trigrams said for the third time: quotation, a refrain or a translation leave none
_NEAR = 9.0  # trigrams said just before, more than new ones


class Density:
    """The statistical rules of one text."""

    def __init__(self, profile: Profile, words: Recurrence) -> None:
        self.profile = profile
        self.suspicious = False
        self.armed: Rule | None = None  # held one check ago
        self._words = words
        # How much more a profile lets be said again than usual: the lines beside its own move with it.
        self._lax = (1 - _USUAL) / max(1e-9, 1 - profile.trigram_repeat)
        self._few = FEW / self._lax
        # Fewer different characters than these in 120 can break the char rule; of ASCII, of CJK and others.
        poor = 0.65 * (1 - profile.char_repeat)
        self._poor = (36 * poor + 1, 95 * poor)

    def look(self, buf: str, end: int, at: int, *, final: bool) -> Rule | None:
        """Judge `buf` up to `end`, which is offset `at` of the text; a rule acts when it still holds one check later."""
        p, words, rule = self.profile, self._words, None
        before, self.suspicious = self.suspicious, False
        if words.score >= 8 and len(window := words.window()) >= 16 and wordy(window):
            rule = self._said_before(window, buf, end, final=final)
        if rule is None and p.char_rule and few(words.tokens, slack=1 if before else 0):
            rule = self._vocabulary(words.window(), buf, end)
        if words.near >= _NEAR and wordy(words.window()) and self._just_said(buf, end):
            self.suspicious = True
        if rule is None and p.char_rule and (final or at % CHAR_STEP == 0) and end >= 48:
            rule = self._characters(buf, end)
        few_marks = final and _emoji(buf, end, 80 * p.symbols, 8)
        if rule is None and (few_marks or _emoji(buf, end, 160 * p.symbols, 16)):
            rule = Rule.SYMBOL
        if rule is not None:
            self.suspicious = True
            if self.armed is not None or final:
                return rule
        self.armed = rule if rule is not None or at % CHAR_STEP == 0 or self.armed is not Rule.CHAR else self.armed
        return None

    def _said_before(self, window: list[str], buf: str, end: int, *, final: bool) -> Rule | None:
        words = self._words
        share = words.share() if len(window) >= 24 else 0.0
        recent = words.share(50)
        going = words.score >= 32 or (words.score >= 16 and recent > 0.5)
        near = shape(buf[max(0, end - 600) : end])
        lax, limit = self._lax, self.profile.trigram_repeat
        if going and near == "prose" and not _coded(buf[max(0, end - 300) : end], 0.04):
            self.suspicious = True
        if near == "verse" and words.verbatim * 2 >= _STANZAS and recent > limit:
            self.suspicious = True
        dense = (
            share > limit
            or (recent > limit + 0.02 and words.score >= 24)
            or (words.score >= PLENTY * lax and words.thrice >= THRICE * lax)
        )
        # Nearly everything was said before, in units longer than the window: a paragraph for the third time.
        again = (
            words.score >= 130 * lax
            and words.thrice >= THRICE * lax
            and near == "prose"
            and shape(buf[max(0, end - KEEP) : end]) == "prose"
        )
        # Cut off, or given up, in the midst of a third near copy: nothing healthy comes after it.
        ending = (
            final
            and near == "prose"
            and share > limit - _ENDING
            and words.score >= 40 * lax
            and words.thrice >= 6 * lax
            and _told(buf[max(0, end - 300) : end])
            and self._really(buf, end, slack=_ENDING)
        )
        # Far copies must be word for word: claims of a patent and steps of a proof share long phrases, too.
        if share <= 0.4 and words.verbatim < VERBATIM:
            return None
        if words.score >= GOING and (again or ending or (dense and self._really(buf, end))):
            return Rule.TRIGRAM
        return None

    def _just_said(self, buf: str, end: int) -> bool:
        """Whether prose, not a list whose lines begin alike, says again what it said just before."""
        tail = buf[max(0, end - 600) : end]
        if shape(tail) != "prose":
            return False
        return "\n" not in tail or duplicate_share(tokens(plain_lines(tail))[-50:]) > 0.4

    def _really(self, buf: str, end: int, slack: float = 0.1) -> bool:
        """Tables, code and verse repeat by trade: there the wider, shape-aware value decides."""
        tail = buf[max(0, end - 4800) : end]
        kind = shape(tail)
        limit = self.profile.trigram_repeat
        if self._in_turn(tail[-300:]):
            return False
        if kind == "prose":
            if tail[-720:].count("\n") < 4:
                return True
            words = tokens(plain_lines(tail[-720:]))[-120:]
            return duplicate_share(words[-50:]) > limit - 0.05 or duplicate_share(words) > limit - slack
        if kind == "verse" and self._words.verbatim >= _STANZAS and self._words.share() > limit + 0.02:
            return True
        return trigram_repeat(tail, kind) > limit + 0.02

    def _vocabulary(self, window: list[str], buf: str, end: int) -> Rule | None:
        """A rotation of few words in no fixed order shows in its vocabulary long before its trigrams fill up."""
        if not wordy(window[-48:]):
            return None
        tail = buf[max(0, end - 300) : end]
        if _coded(tail, 0.02) or shape(buf[max(0, end - 600) : end]) != "prose":
            # Code gets by on few names; of data, a rotation of few values is suspicious.
            size, most = _DATA_OF
            self.suspicious = len(set(window[-size:])) <= most and tail.count('"') > 0.05 * len(tail)
            return None
        # The points of a list share their wording: there it takes fewer words still.
        self.suspicious = len(LIST_MARK.findall(tail)) < 2 or few(window, slack=_LISTED)
        few_words = len(window) >= 48 and len(set(window[-48:])) <= self._few
        return Rule.TRIGRAM if few_words and not (_drill(tail) or self._in_turn(tail)) else None

    def _in_turn(self, tail: str) -> bool:
        """Whether short lines give answers, or the moves of a puzzle."""
        return answers(tail) or (tail.count("\n") >= _DRILLED and not wordy(self._words.window(), _MOVES))

    def _characters(self, buf: str, end: int) -> Rule | None:
        tail = buf[max(0, end - 120) : end]
        distinct = len(set(tail))
        # Healthy text shows 22 + 9 + 5 letters, digits and marks, or 120**0.92 CJK characters and some of those.
        if distinct > self._poor[not tail.isascii()]:
            return None
        tail = buf[max(0, end - 720) : end]
        if WORD.search(tail[-120:]) is None or shape(tail) != "prose":
            return None
        last = tail[-120:]
        letters = sum(map(str.isalpha, last)) - (0 if last.isascii() else sum(map(_CJK_NUMERALS.__contains__, last)))
        if letters < 60 or _drill(_DIGITS.sub("", buf[max(0, end - 300) : end])) or _BASES.issuperset(last.upper()):
            return None
        if char_repeat(tail, "prose") <= self.profile.char_repeat or answers(buf[max(0, end - 300) : end]):
            return None
        return Rule.CHAR


def few(words: list[str], slack: int = 0) -> bool:
    """Whether the last words are few different ones for their number; the shorter the stretch, the fewer."""
    size = _FEW_OF[0][0]
    if len(words) < size or len(set(words[-size:])) > _FEWEST:
        return False
    return any(len(words) >= size and len(set(words[-size:])) <= most + slack for size, most in _FEW_OF)


def _drill(tail: str) -> bool:
    """Whether short lines go through few words without saying one line twice: forms of a verb, pairs of a game."""
    lines = tail.split("\n")[1:-1]
    return len(lines) >= _DRILLED and len(set(lines)) == len(lines)


def answers(tail: str) -> bool:
    """Whether the last lines are a key of answers: each one of those that forms and classifiers give, maybe after what it answers."""
    lines = _ENTRY.split(tail)[1:]
    return len(lines) >= _DRILLED and all(map(_answered, lines[:-1][-_KEYS:]))


def _answered(line: str) -> bool:
    said = _LABEL.split(line)[-1].strip()
    return is_answered(line.strip()) or is_answer(said.casefold())


def _coded(tail: str, share: float) -> bool:
    """Whether code's punctuation makes up more than this share: a listing, whatever its lines look like."""
    return sum(map(tail.count, _CODE)) > share * len(tail)


def _told(tail: str) -> bool:
    """Whether words tell it all: a log or a listing says numbers and marks as well."""
    return sum(map(str.isdigit, tail)) * 12 <= len(tail) and not _coded(tail, 0.04)


def _emoji(buf: str, end: int, size: int, most: int) -> bool:
    """A flood of few different symbols that is no exact cycle: emoji sequences, mixed marks."""
    if end < size or buf[end - 1].isalnum():
        return False
    tail = buf[end - size : end]
    if tail.isascii() or WORD.search(tail) is not None:
        return False
    kinds = set(tail)
    if tail.count("\n") >= 2 and any("\u2500" <= kind <= "\u259f" or "\u2800" < kind <= "\u28ff" for kind in kinds):
        return False  # a picture of dots or boxes
    return len(kinds) <= most and len(kinds & SEPARATORS) * 3 <= len(kinds)

"""Exact repetition at the end of a text: which copies of one unit are a loop, and from where a suspicion holds text.

In:  a text, where it ends, whether more may come.
Out: the Run that breaks a rule, or None; `hold_from`, where a hold must begin so that not too much is shown.
Widths and copies: DETECTION.md section 1.
"""

from dataclasses import dataclass

from detector.profile import Profile
from detector.tail import KEEP, LONG, SHORT, periods, run_length
from detector.text import TOKEN, WORD, width
from detector.verdict import Rule

HELD = 256  # most characters a gate holds: what is not certain by then would be shown all the same
SEPARATORS = frozenset("-=_.*#~+·—–…─━═│┃|┄┈ \t\r\n\u3000\u00a0\u2800")
SHOUTED, SHOUT = frozenset("!?,;"), 64  # marks that draw nothing, and how many in a row are no emphasis
_RULED = frozenset("|-: \n")
_BASES, _GENE = frozenset("ACGTUN"), 400  # genes repeat by nature
_FRAMES, _CELL = "|+", 120
_LINE = 1200
_ROW = 8
_LONG_BLOCK = 1.2
_RULE = 248  # of a table's or a section's rule; no longer, so that one hold is enough (HELD)
_FLOOD = 48  # shortest run of marks that is no decoration, if they are not ASCII


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Copies of one unit up to the end of what was looked at; offsets within the text handed in."""

    rule: Rule
    period: int
    start: int
    end: int


class Runs:
    """Judges what a text ends in; `cycles` is the most copies of a unit of words seen so far."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.cycles = 0
        self.hold_from: int | None = None

    def near(self, text: str, end: int, *, final: bool) -> Run | None:
        """Units of up to SHORT characters."""
        if end < 8:
            return None
        return self._judged(text, end, final, anchor=4 if final else 8, least=1, most=SHORT, tries=8)

    def far(self, text: str, end: int, *, final: bool) -> Run | None:
        """Units too long for the memory of trigrams."""
        if end <= 2 * SHORT:
            return None
        return self._judged(text, end, final, anchor=48, least=SHORT, most=LONG, tries=4)

    def _judged(
        self, text: str, end: int, final: bool, *, anchor: int, least: int, most: int, tries: int
    ) -> Run | None:
        covered, floor = 0, max(0, end - KEEP)
        for period in periods(text, end, anchor=anchor, least=least, most=most, tries=tries):
            if 2 * period > end:
                return None
            if period * 2 <= covered or text[end - period : end] != text[end - 2 * period : end - period]:
                continue
            run = run_length(text, end, period, floor)
            if covered and run <= covered:
                continue
            covered = max(covered, run)
            begin = hold_begin(text, end, run, period, self.profile.symbols)
            if begin is not None:
                self.hold_from = begin if self.hold_from is None else min(begin, self.hold_from)
            rule = self._rule(text[end - period : end], period, run, final, whole=run >= end - 2)
            if rule is not None:
                return Run(rule=rule, period=period, start=end - run, end=end)
        return None

    def _rule(self, unit: str, period: int, run: int, final: bool, *, whole: bool) -> Rule | None:
        """Which rule a run of `run` characters with this unit breaks."""
        p, copies = self.profile, run // period
        if WORD.search(unit) is None:
            return Rule.SYMBOL if run >= symbol_limit(unit) * p.symbols else None
        size = width(unit)
        if len(unit) > 1 and _BASES.issuperset(unit) and size * copies < _GENE:
            return None
        # Rows of digits are pictures, matrices and dumps more often than loops.
        lettered = any(map(str.isalpha, unit))
        if copies >= p.cycle_count:
            self.cycles = max(self.cycles, copies)
            if size * copies >= p.cycle_width * (1 if lettered else 2):
                return Rule.CYCLE
        if copies >= p.block_copies and size >= p.block_width:
            return Rule.BLOCK
        if final:
            return self._at_the_end(unit, period, run, size, lettered, whole=whole)
        return self._stuck(unit, period, run, size, p.stuck_words, lettered, final=False)

    def _at_the_end(self, unit: str, period: int, run: int, size: int, lettered: bool, *, whole: bool) -> Rule | None:
        """What a text ends in may be shorter: nothing healthy comes after it."""
        p, copies = self.profile, run // period
        nearly = 2.5 if size >= p.block_width * _LONG_BLOCK else 3
        lacking = unit[: period - run % period]
        if (
            (run >= nearly * period or (copies == 2 and WORD.search(lacking) is None))
            and size * 5 >= p.block_width * 2
            and p.block_copies <= 3
        ):
            return Rule.BLOCK
        strict = p.stuck_words <= 10
        if whole and period > 1 and strict and copies >= p.cycle_count + 2 and size * copies * 4 >= p.cycle_width:
            return Rule.STUCK if len(TOKEN.findall(unit)) == 1 else Rule.CYCLE
        if not lettered:
            return Rule.STUCK if period <= 6 and copies >= max(20, p.stuck_words) else None
        least = p.stuck_words - 3 if strict else p.stuck_words
        return self._stuck(unit, period, run, size, least, lettered, final=True)

    def _stuck(
        self, unit: str, period: int, run: int, size: int, least: int, lettered: bool, *, final: bool
    ) -> Rule | None:
        """One word over and over; at the end of a text a few words, too."""
        if not lettered or "\\" in unit:  # escapes of bytes in code
            return None
        if run < least * period or size * (run // period) < (28 if size > period else 48):
            return None
        words = TOKEN.findall(unit.casefold() if len(unit) < 64 else "")
        few = final and words and run >= (self.profile.cycle_count + 3) * period
        return Rule.STUCK if len(words) == 1 or few else None


def shown_limit(period: int) -> int:
    """Characters of a loop that may be shown: two copies or 32, three copies of a unit over 100 (SPEC 2.5)."""
    return max(32, 2 * period) if period <= 100 else 3 * period


def hold_begin(text: str, end: int, run: int, period: int, symbols: int) -> int | None:
    """Where in `text` a hold must begin if its last `run` characters repeat with `period`; None inside a table's row."""
    if _inside_a_row(text, end, run):
        return None
    return end - run + allowance(text[end - period : end], symbols, text[end - run - 1 : end - run])


def _inside_a_row(text: str, end: int, run: int) -> bool:
    """Whether the run is part of a table's row or rule that has no more cells than the row above."""
    if "|" not in text[max(0, end - _CELL) : end]:
        return False
    begin = text.rfind("\n", max(0, end - _LINE), end) + 1
    above = text[text.rfind("\n", max(0, begin - _LINE), max(0, begin - 1)) + 1 : max(0, begin - 1)]
    cells = text.count("|", begin, end)
    return end - run >= begin and cells <= above.count("|") + 1 and WORD.search(above) is not None


def allowance(unit: str, symbols: int, before: str) -> int:
    """Characters of a run of this unit after which a hold must begin: what may be shown, or as late as it can help.

    A run of symbols that would outgrow the longest hold before it is flagged is not held from its beginning: most are
    decoration, blanks above all. `symbols`: the profile's factor; `before`: the character before the run.
    """
    shown = shown_limit(len(unit))
    if WORD.search(unit):
        return shown
    if len(unit) == 1 and before in _FRAMES and before:
        return _CELL  # the rule of a table's column
    return max(shown, symbol_limit(unit) * symbols - HELD)


def symbol_limit(unit: str) -> int:
    """Least length of a run of symbols that is no decoration."""
    if unit.isspace():
        return 1000
    if SHOUTED.issuperset(unit):
        return SHOUT
    if "--" in unit and "\n" in unit and _RULED.issuperset(unit) and "|" in unit:
        return 2 * SHOUT  # a table has one such row
    if "\n" in unit and ("|" in unit or len(unit) >= _ROW):
        return 1000  # rows of a table, a form to be filled in, a picture
    if set(unit) <= SEPARATORS:
        return 300 if len(unit) == 1 else _RULE
    return 120 if unit.isascii() else _FLOOD

"""The engine behind whole and streamed scoring: text in, at fixed offsets a finding or a suspicion out.

Checks stand at multiples of STEP characters of the text, never at chunk borders, so verdicts do not depend on them.
Pure and bounded: holds a tail of at most KEEP + LONG characters and the last thousand or so tokens.
Why these rules: DETECTION.md sections 1 and 4.
"""

import re

from detector.counting import LINE, counted
from detector.density import Density
from detector.finding import Finding, class_of, dense_stretch, first_copy, vague_class
from detector.lines import Lines
from detector.metrics import trigram_repeat
from detector.profile import Profile
from detector.recurrence import Recurrence
from detector.runs import Run, Runs
from detector.tail import KEEP, LONG, periods, run_length
from detector.text import LIST_MARK, WORD, settled, tokens
from detector.verdict import LoopClass, Rule

STEP = 32
FAR_STEP = 128  # characters between two looks for units over SHORT
_COUNTED, _SUSPECTED = 96, 5  # characters of a line, and between two looks at it; copies
_DIGIT = re.compile("[0-9]")
_BACK = 8000  # characters searched back for where a vague repetition begins


class Watch:
    """Follows one text. `push` adds to it, `check(at)` judges all of it up to `at`, `hold_at` is the suspicion then."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.buf = ""
        self.base = 0  # absolute offset of buf[0]
        self.hold_at: int | None = None  # offset from which text had better be held
        self.words = Recurrence()
        self.density = Density(profile, self.words)
        self.follow_lines = profile.statistics
        self.listed = False  # whether a list seems to go on by itself
        self._runs = Runs(profile)
        self._lines = Lines()
        self._running = False  # whether one line seems to count on
        self.token_at = 0  # absolute offset up to which tokens were read
        self._line_at = 0

    @property
    def cycles(self) -> int:
        """The most copies of a unit of words seen so far."""
        return self._runs.cycles

    def push(self, text: str) -> None:
        self.buf += text

    def trim(self, at: int) -> None:
        """Forget what no check at `at` or later can need."""
        drop = at - self.base - KEEP
        if drop > LONG:
            self.buf = self.buf[drop:]
            self.base += drop
            self.token_at = max(self.token_at, self.base)
            self._line_at = max(self._line_at, self.base)

    def check(self, at: int, *, final: bool = False) -> Finding | None:
        """Judge the text up to absolute offset `at`. `final`: the text ends here."""
        end, runs = at - self.base, self._runs
        new = self.unread(end, final=final)
        grams = self.words.grams(new)
        # Inside the second copy of anything every trigram was said before: where none was, no copy can end.
        said = self.words.take(new, grams) or len(grams) < 3
        runs.hold_from = None
        run = runs.near(self.buf, end, final=final) if said or final else None
        if run is None and (final or at % FAR_STEP == 0):
            run = runs.far(self.buf, end, final=final)
        if run is None and final:
            run = self._before_blanks(end)
        self.hold_at = None if runs.hold_from is None else runs.hold_from + self.base
        if run is not None:
            return self._exactly(run)
        if not self.profile.statistics:
            return None
        found = self._listed(end, final=final) if self.follow_lines else None
        if found is None:
            rule = self.density.look(self.buf, end, at, final=final)
            found = self._vague(rule, end) if rule is not None else None
            if self.density.suspicious or self.listed or self._running:
                self.hold_at = at
        return found

    def _before_blanks(self, end: int) -> Run | None:
        """A run that only blanks part from the end of the text, one of which may be its unit's own: it ends the text too."""
        said = len(self.buf[:end].rstrip())
        runs = (self._runs.near(self.buf, last, final=True) for last in (said + 1, said) if 0 < last < end)
        return next((run for run in runs if run is not None), None)

    def unread(self, end: int, *, final: bool = False) -> list[str]:
        """The tokens up to `end` of the buffer that were not read yet; counts them as read."""
        begin = self.token_at - self.base
        stop = end if final else settled(self.buf, begin, end)
        if stop <= begin:
            return []
        self.token_at = self.base + stop
        lead = "\n" if begin == 0 or self.buf[begin - 1] == "\n" else ""
        region = lead + self.buf[begin:stop]
        return tokens(LIST_MARK.sub("\n", region) if "\n" in region else region)

    def metric(self, tail: str = "") -> float:
        """The trigram metric: the higher of what the last tokens and what `tail` show."""
        words = self.words
        return max(words.share() if len(words.tokens) >= 24 else 0.0, trigram_repeat(tail) if tail else 0.0)

    def _exactly(self, run: Run, *, drifting: bool = False) -> Finding:
        first, onset = first_copy(self.buf, run, drifting=drifting)
        unit = self.buf[run.start : run.start + run.period]
        return Finding(
            rule=run.rule, loop_class=class_of(unit, run.rule), unit=unit, period=run.period,
            start=self.base + first, onset=self.base + onset, seen=self.base + run.end,
        )  # fmt: skip

    def _vague(self, rule: Rule, end: int) -> Finding:
        """Where a repetition found by statistics begins: the start of its dense stretch, first copy included."""
        floor = max(0, end - KEEP)
        for period in periods(self.buf, end, anchor=24, least=1, most=LONG, tries=4):
            length = run_length(self.buf, end, period, floor)
            if length >= max(100, period * 3 // 2):
                return self._exactly(Run(rule=rule, period=period, start=end - length, end=end), drifting=True)
        low = max(0, end - _BACK)
        text = self.buf[low:end]
        start, onset, unit = dense_stretch(text)
        if rule is Rule.SYMBOL:
            start = len(text)
            while start and (WORD.search(text[start - 1]) is None and text[start - 1] not in "\n ."):
                start -= 1
            onset, unit = start + 16, text[start : start + 16]
        base = self.base + low
        loop_class = LoopClass.FORMAT_RUNAWAY if rule is Rule.SYMBOL else vague_class(text[onset:], unit)
        return Finding(
            rule=rule, loop_class=loop_class, unit=unit, period=0,
            start=base + start, onset=base + min(onset, len(text)), seen=self.base + end,
        )  # fmt: skip

    def _listed(self, end: int, *, final: bool) -> Finding | None:
        """A list whose numbers go on while its items stay or come round again."""
        begin = self._line_at - self.base
        stop = end if final else self.buf.rfind("\n", begin, end) + 1
        if stop > begin:
            self._line_at = self.base + stop
            self._lines.take(self.buf[begin:stop])
        elif not self._lines.expecting:
            return self._counted(end, final=final)
        # What a program prints counts by trade; only items that come round are a loop there.
        counting = self._lines.counting and self.buf.count("```", max(0, end - KEEP), end) % 2 == 0
        self.listed = self._lines.expects(self.buf[max(begin, stop) : end], counting=counting)
        if stop <= begin:
            return self._counted(end, final=final)
        lines = self._lines.found(self.buf, self.base, end, self.profile.list_items, final=final, counting=counting)
        return lines or self._counted(end, final=final)

    def _counted(self, end: int, *, final: bool) -> Finding | None:
        """One phrase over and over in one line, under numbers that count."""
        buf, least, at = self.buf, self.profile.list_items, self.base + end
        if at - self._line_at < _COUNTED:
            self._running = False
            return None
        run = None
        if final or at % _COUNTED == 0:
            digits = _DIGIT.search(buf, max(0, end - _COUNTED), end)
            run = counted(buf, end, min(least, _SUSPECTED)) if digits else None
            self._running = run is not None
        if run is None or run.copies < least or end - run.start < LINE:
            return None
        return Finding(
            rule=Rule.ENUMERATION, loop_class=LoopClass.FORMAT_RUNAWAY, unit=buf[run.start : run.second], period=0,
            start=self.base + run.start, onset=self.base + run.second, seen=at,
        )  # fmt: skip

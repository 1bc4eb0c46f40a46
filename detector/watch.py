"""The engine behind whole and streamed scoring: text in, at fixed offsets a finding or a suspicion out.

Checks stand at multiples of STEP characters of the text, never at chunk borders, so verdicts do not depend on them.
Pure and bounded: holds a tail of at most 4 * LONG characters and the last few hundred tokens.
Why these rules: DETECTION.md sections 1 and 4.
"""

from detector.finding import Finding, class_of, dense_stretch, vague_class
from detector.lines import Lines
from detector.metrics import char_repeat, duplicate_share, trigram_repeat
from detector.profile import Profile
from detector.tail import LONG, SHORT, periods, run_length
from detector.text import LIST_MARK, TOKEN, WORD, plain_lines, shape, tokens, width
from detector.verdict import LoopClass, Rule

STEP = 32
KEEP = 4 * LONG
_TOKENS = 120
_SEEN = 540
_CODE = "(){}[]=<>;_/\\|:@"
_VERBATIM = 40  # trigrams in a row
_FEW = 11  # different words in 32: healthy prose shows twice as many
_SEPARATORS = frozenset("-=_.*#~+·—–…─━═│┃|┄┈ \t\r\n\u3000\u00a0\u2800")


class Watch:
    """Follows one text. `push` adds to it, `check(at)` judges all of it up to `at`."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.buf = ""
        self.base = 0  # absolute offset of buf[0]
        self.trigram = 0.0
        self.cycles = 0
        self.hold_at: int | None = None  # offset from which a suspicion wants text held
        self._tokens: list[str] = []
        self._token_at = 0
        self._seen: set[tuple[str, str, str]] = set()
        self._older: set[tuple[str, str, str]] = set()
        self._score = 0.0
        self._same = 0  # trigrams in a row that were said before
        self._armed: Rule | None = None  # a statistical rule that held one check ago
        self._line_at = 0
        self._list = Lines()

    def push(self, text: str) -> None:
        self.buf += text

    def trim(self, at: int) -> None:
        """Forget what no check at `at` or later can need."""
        drop = at - self.base - KEEP
        if drop > LONG:
            self.buf = self.buf[drop:]
            self.base += drop
            self._token_at = max(self._token_at, self.base)
            self._line_at = max(self._line_at, self.base)

    def check(self, at: int, *, final: bool = False) -> Finding | None:
        """Judge the text up to absolute offset `at`. `final`: the text ends here."""
        end = at - self.base
        self.hold_at = None
        # Inside the second copy of anything every trigram was said before: where none was, no copy can end.
        said = self._take(end, final)
        found = self._exact(end, at, final) if said or final else self._far(end, at)
        if found is not None:
            return found
        if not self.profile.statistics:
            return None
        return self._lines(end, final) or self._statistics(end, at, final)

    def last_look(self, text: str) -> Finding | None:
        """Only the exact rules at the end of a text that a prefilter called clean so far."""
        self.base = max(0, len(text) - 2 * LONG)
        self.buf = text[self.base :]
        return self._exact(len(self.buf), len(text), True)

    def trigram_of(self, tail: str) -> float:
        """The trigram metric for a verdict; the higher of what was seen and what the tail shows."""
        return max(self.trigram, trigram_repeat(tail))

    # -- exact runs -------------------------------------------------------------------------------------------------

    def _exact(self, end: int, at: int, final: bool) -> Finding | None:
        if end < 8:
            return None
        found = self._candidates(end, at, final, anchor=4 if final else 8, least=1, most=SHORT, tries=8)
        return found or self._far(end, at, final)

    def _far(self, end: int, at: int, final: bool = False) -> Finding | None:
        """Units too long for the memory of trigrams, looked for now and then."""
        if end <= 2 * SHORT or not (final or at % 128 == 0):
            return None
        return self._candidates(end, at, final, anchor=48, least=SHORT, most=LONG, tries=4)

    def _candidates(
        self, end: int, at: int, final: bool, *, anchor: int, least: int, most: int, tries: int
    ) -> Finding | None:
        buf, covered = self.buf, 0
        for period in periods(buf, end, anchor=anchor, least=least, most=most, tries=tries):
            if 2 * period > end:
                return None
            if period * 2 <= covered or buf[end - period : end] != buf[end - 2 * period : end - period]:
                continue
            run = run_length(buf, end, period)
            if covered and run <= covered:
                continue
            covered = max(covered, run)
            allowed = at - run + shown_limit(period)
            self.hold_at = allowed if self.hold_at is None else min(allowed, self.hold_at)
            rule = self._judge(buf[end - period : end], period, run, final, whole=run + self.base >= at - 2)
            if rule is not None:
                start = end - run
                return self._found(rule, period, start, end)
        return None

    def _found(self, rule: Rule, period: int, start: int, end: int) -> Finding:
        unit = self.buf[start : start + period]
        at = self.base + start
        return Finding(
            rule=rule, loop_class=class_of(unit, rule), unit=unit, period=period,
            start=at, onset=at + period, seen=self.base + end,
        )  # fmt: skip

    def _judge(self, unit: str, period: int, run: int, final: bool, *, whole: bool) -> Rule | None:
        """Which exact rule a run of `run` characters with this unit breaks."""
        p, copies = self.profile, run // period
        if WORD.search(unit) is None:
            return Rule.SYMBOL if run >= _symbol_limit(unit, copies) * p.symbols else None
        size = width(unit)
        # Rows of digits are pictures, matrices and dumps more often than loops.
        lettered = any(map(str.isalpha, unit))
        if copies >= p.cycle_count:
            self.cycles = max(self.cycles, copies)
            if size * copies >= p.cycle_width * (1 if lettered else 2):
                return Rule.CYCLE
        if copies >= p.block_copies and size >= p.block_width:
            return Rule.BLOCK
        if final:
            nearly = 2.5 if size >= 200 else 3
            if run >= nearly * period and size >= 40 and p.block_copies <= 3:
                return Rule.BLOCK
        if final and whole and period > 1 and copies >= 6 and size * copies >= 24 and p.stuck_words <= 10:
            return Rule.STUCK if len(TOKEN.findall(unit)) == 1 else Rule.CYCLE
        if not lettered:
            return Rule.STUCK if final and period <= 6 and copies >= max(20, p.stuck_words) else None
        if "\\" in unit:  # escapes of bytes in code
            return None
        if run >= (7 if final and p.stuck_words <= 10 else p.stuck_words) * period and size * copies >= (
            28 if size > period else 48
        ):
            words = TOKEN.findall(unit.casefold() if len(unit) < 64 else "")
            if len(words) == 1 or (final and words):
                return Rule.STUCK
        return None

    # -- words ------------------------------------------------------------------------------------------------------

    def _take(self, end: int, final: bool) -> bool:
        """Tokenise what is new up to `end`, leaving a word that may go on; return whether a trigram was known."""
        buf, begin = self.buf, self._token_at - self.base
        stop = end
        if not final:
            # The last word may go on past this check; it is read with the next one.
            low = max(begin, end - 64)
            while stop > low and buf[stop - 1].isalnum() and buf[stop - 1] < "\u3040":
                stop -= 1
            if stop == low:
                stop = end
        region = buf[max(0, begin - 1) : stop]
        if begin > 0:
            lead = region[0]
            region = region[1:] if lead != "\n" else region
        else:
            region = "\n" + region
        self._token_at = self.base + stop
        if "\n" in region:
            region = LIST_MARK.sub("\n", region)
        new = tokens(region)
        toks = self._tokens
        last = toks[-2:] + new
        toks += new
        if len(toks) > 3 * _TOKENS:
            del toks[: len(toks) - _TOKENS]
        grams = list(zip(last, last[1:], last[2:], strict=False))
        seen, older = self._seen, self._older
        known = sum(map(seen.__contains__, grams)) + sum(map(older.__contains__, grams))
        if known or len(set(grams)) != len(grams):
            self._score = self._count(grams)
        else:
            seen.update(grams)
            self._same = 0 if grams else self._same
            self._score = max(0.0, self._score - 2.0 * len(grams))
        if len(seen) > _SEEN:
            self._older, self._seen = seen, set()
        return known > 0 or len(grams) < 3  # too few words to tell

    def _count(self, grams: list[tuple[str, str, str]]) -> float:
        """The running sum: up 1 for a trigram said before, down 2 for a new one, never below 0."""
        seen, older, score = self._seen, self._older, self._score
        for gram in grams:
            if gram in seen or gram in older:
                score += 1.0
                self._same += 1
            else:
                self._same = 0
                seen.add(gram)
                score = score - 2.0 if score > 2.0 else 0.0
        return min(score, 400.0)

    def _statistics(self, end: int, at: int, final: bool) -> Finding | None:
        """The trigram and char rules: hold first, act when it still holds one check later."""
        p, rule = self.profile, None
        window = self._tokens[-_TOKENS:] if self._score else []
        if self._score >= 8 and len(window) >= 16 and _wordy(window):
            self.trigram = share = duplicate_share(window) if len(window) >= 24 else 0.0
            recent = duplicate_share(window[-50:])
            going = self._score >= 20 or (self._score >= 12 and recent > 0.5)
            if going and shape(self.buf[max(0, end - 600) : end]) == "prose":
                self.hold_at = at
            dense = share > p.trigram_repeat or (recent > 0.62 and self._score >= 24) or self._score >= 60
            # Nearly everything was said before, in units longer than the window: a paragraph for the third time.
            again = self._score >= 130 and shape(self.buf[:end]) == shape(self.buf[max(0, end - 600) : end]) == "prose"
            # Far copies must be word for word: claims of a patent and steps of a proof share long phrases, too.
            dense, again = (dense, again) if share > 0.4 or self._same >= _VERBATIM else (False, False)
            if self._score >= 14 and (again or (dense and self._really(end))):
                rule = Rule.TRIGRAM
        if (
            rule is None
            and len(window) >= 32
            and len(set(window[-32:])) <= _FEW
            and p.char_rule
            and _wordy(window[-48:])
        ):
            rule = self._vocabulary(window, end, at)
        if rule is None and p.char_rule and (final or at % 96 == 0) and end >= 48:
            rule = self._characters(end)
        if rule is None and self._emoji(end):
            rule = Rule.SYMBOL
        if rule is not None:
            self.hold_at = at
            if self._armed is not None or final:
                return self._vague(rule, end)
        self._armed = rule if rule is not None or at % 96 == 0 or self._armed is not Rule.CHAR else self._armed
        return None

    def _really(self, end: int) -> bool:
        """Tables and code repeat by trade: there the wider, shape-aware value decides."""
        tail = self.buf[max(0, end - 4800) : end]
        kind = shape(tail)
        limit = self.profile.trigram_repeat
        if kind == "prose":
            if tail[-720:].count("\n") < 4:
                return True
            words = tokens(plain_lines(tail[-720:]))[-_TOKENS:]
            return duplicate_share(words[-50:]) > 0.55 or duplicate_share(words) > min(limit, 0.5)
        return trigram_repeat(tail, kind) > max(limit, 0.62)

    def _vocabulary(self, window: list[str], end: int, at: int) -> Rule | None:
        """A rotation of few words in no fixed order shows in its vocabulary long before its trigrams fill up."""
        tail = self.buf[max(0, end - 300) : end]
        if sum(map(tail.count, _CODE)) > 0.02 * len(tail) or shape(tail) != "prose":
            return None  # code and data get by on few names
        self.hold_at = at
        return Rule.TRIGRAM if len(window) >= 48 and len(set(window[-48:])) <= _FEW else None

    def _characters(self, end: int) -> Rule | None:
        tail = self.buf[max(0, end - 120) : end]
        distinct = len(set(tail))
        # At most 0.65 * 0.65 of 22 + 9 + 5 letters, digits and marks, or of 120**0.92 CJK characters.
        if distinct > (16 if tail.isascii() else 40):
            return None
        tail = self.buf[max(0, end - 720) : end]
        if WORD.search(tail[-120:]) is None or shape(tail) != "prose":
            return None
        letters = sum(map(str.isalpha, tail[-120:]))
        return Rule.CHAR if letters >= 60 and char_repeat(tail, "prose") > self.profile.char_repeat else None

    def _emoji(self, end: int) -> bool:
        """A flood of few different symbols that is no exact cycle: emoji sequences, mixed marks."""
        if end < 160 or self.buf[end - 1].isalnum():
            return False
        tail = self.buf[end - 160 : end]
        if tail.isascii() or WORD.search(tail) is not None:
            return False
        kinds = set(tail)
        return len(kinds) <= 16 and len(kinds & _SEPARATORS) * 3 <= len(kinds)

    def _vague(self, rule: Rule, end: int) -> Finding:
        """Where a repetition found by statistics begins: the start of its dense stretch, first copy included."""
        for period in periods(self.buf, end, anchor=24, least=1, most=LONG, tries=4):
            run = run_length(self.buf, end, period)
            if run >= max(100, period * 3 // 2):
                return self._found(rule, period, end - run, end)
        low = max(0, end - 8000)
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

    def _lines(self, end: int, final: bool) -> Finding | None:
        """A list whose numbers go on while its items stay or come round again."""
        begin = self._line_at - self.base
        stop = end if final else self.buf.rfind("\n", begin, end) + 1
        if stop <= begin:
            return None
        self._line_at = self.base + stop
        self._list.take(self.buf[begin:stop])
        # What a program prints counts by trade; only items that come round are a loop there.
        printed = self.buf.count("```", 0, end) % 2 == 1
        return self._list.found(self.buf, self.base, end, self.profile.list_items, final=final, counting=not printed)


def shown_limit(period: int) -> int:
    """Characters of a loop that may be shown: two copies or 32, three copies of a unit over 100 (SPEC 2.5)."""
    return max(32, 2 * period) if period <= 100 else 3 * period


def _wordy(window: list[str]) -> bool:
    """Whether words, not numbers, make up the window: dumps and matrices of numbers repeat by trade."""
    return sum(map(str.isdigit, window)) * 5 < len(window) * 2


def _symbol_limit(unit: str, copies: int) -> int:
    """Least length of a run of symbols that is no decoration."""
    if unit.isspace():
        return 1000
    if "|" in unit and "\n" in unit:
        return 1000  # rows of a table or a form to be filled in
    if set(unit) <= _SEPARATORS:
        return 300 if len(unit) == 1 or "\n" in unit or copies >= 64 else 400
    if unit.isascii():
        return 120
    return 48

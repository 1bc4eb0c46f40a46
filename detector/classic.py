"""The rule set `classic`: the documents' literal stream rules, every key configurable (SPEC 2.5).

Same interface as Watch, so the gate and the corpus evaluation run either.
"""

from detector.finding import Finding, class_of, dense_stretch
from detector.metrics import char_repeat
from detector.policy import GatePolicy
from detector.profile import Profile
from detector.tail import run_length
from detector.text import TOKEN, WORD
from detector.verdict import LoopClass, Rule
from detector.watch import STEP

_ONSET_BACK = 8000  # characters searched back for a collapse's onset


class ClassicWatch:
    """Follows one text by the classic rules."""

    def __init__(self, policy: GatePolicy, profile: Profile) -> None:
        self.policy = policy
        self.profile = profile
        self.buf = ""
        self.base = 0
        self.hold_at: int | None = None
        self._due = policy.check_every

    def push(self, text: str) -> None:
        self.buf += text

    def trim(self, at: int) -> None:
        drop = at - self.base - max(self.policy.window, _ONSET_BACK)
        if drop > _ONSET_BACK:
            self.buf = self.buf[drop:]
            self.base += drop

    def check(self, at: int, *, final: bool = False) -> Finding | None:
        """Judge the text up to absolute offset `at`; between two `check_every` marks nothing is looked at."""
        self.hold_at = None
        if at < self._due and not final:
            return None
        self._due = at - at % STEP + max(STEP, self.policy.check_every)
        end = at - self.base
        return self._period(end) or self._collapse(end) or self._fast(end)

    def _period(self, end: int) -> Finding | None:
        p, buf = self.policy, self.buf
        low = max(0, end - p.window)
        tail = buf[low:end]
        for period in range(1, min(p.max_period, len(tail) // 2) + 1):
            if tail[-period:] != tail[-2 * period : -period]:
                continue
            run = run_length(tail, len(tail), period)
            reps = run // period
            unit = tail[-period:]
            if reps >= p.min_repeats and reps * period >= p.min_run_chars and WORD.search(unit):
                start = end - run_length(buf, end, period)
                unit = buf[start : start + period]
                return self._found(Rule.PERIOD, class_of(unit, Rule.PERIOD), unit, period, start, start + period, end)
            if reps >= 3 and WORD.search(unit):
                self.hold_at = self.base + end
        return None

    def _collapse(self, end: int) -> Finding | None:
        p = self.policy
        if not p.collapse:
            return None
        tail = self.buf[max(0, end - p.collapse_window) : end]
        words = TOKEN.findall(tail.casefold())
        if len(tail) < 96 or len(words) < 24 or collapse_share(tail, words, p.collapse_gram) < p.collapse_threshold:
            return None
        low = max(0, end - _ONSET_BACK)
        start, onset, unit = dense_stretch(self.buf[low:end])
        return self._found(Rule.COLLAPSE, LoopClass.PHRASE_LOOP, unit, 0, low + start, low + onset, end)

    def _fast(self, end: int) -> Finding | None:
        if not self.policy.fast_rules or end < 48:
            return None
        tail = self.buf[max(0, end - 120) : end]
        words = TOKEN.findall(tail.casefold())
        rule, p = None, self.profile
        stuck = p.stuck_words - 3 if p.stuck_words <= 10 else p.stuck_words  # the usual 10 is 7 here: more than 6
        grams = 3 * p.cycle_count
        if len(words) >= stuck and len(set(words[-stuck:])) == 1:
            rule, cls = Rule.STUCK, LoopClass.STUCK
        elif len(words) >= grams and words[-grams:] == words[-3:] * p.cycle_count:
            rule, cls = Rule.TRIGRAM, LoopClass.PHRASE_LOOP
        elif p.char_rule and len(tail) == 120 and char_repeat(self.buf[max(0, end - 4800) : end]) > p.char_repeat:
            rule, cls = Rule.CHAR, LoopClass.STUCK
        if rule is None:
            return None
        low = max(0, end - _ONSET_BACK)
        start, onset, unit = dense_stretch(self.buf[low:end])
        return self._found(rule, cls, unit, 0, low + start, low + onset, end)

    def _found(
        self, rule: Rule, loop_class: LoopClass, unit: str, period: int, start: int, onset: int, end: int
    ) -> Finding:
        base = self.base
        return Finding(
            rule=rule, loop_class=loop_class, unit=unit, period=period,
            start=base + start, onset=base + onset, seen=base + end,
        )  # fmt: skip


def collapse_share(tail: str, words: list[str], gram: int) -> float:
    """The higher of: character n-grams already seen, word tokens already seen. 0..1."""
    n = len(tail) - gram + 1
    grams = 1 - len({tail[i : i + gram] for i in range(n)}) / n if n > 0 else 0.0
    return max(grams, 1 - len(set(words)) / len(words)) if words else grams

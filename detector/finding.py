"""What the engine hands back when a repetition is certain: its record, its class, and where a vague one begins."""

from dataclasses import dataclass
from itertools import islice

from detector.text import TOKEN, WORD, width
from detector.verdict import LoopClass, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A confirmed repetition; offsets absolute. `period` is 0 for those found by statistics."""

    rule: Rule
    loop_class: LoopClass
    unit: str
    period: int
    start: int
    onset: int
    seen: int

    @property
    def repeats(self) -> int:
        return max(1, (self.seen - self.start) // max(1, self.period or len(self.unit)))


def class_of(unit: str, rule: Rule) -> LoopClass:
    """The class of an exact run, by its unit."""
    if rule is Rule.SYMBOL or WORD.search(unit) is None:
        return LoopClass.FORMAT_RUNAWAY
    size = width(unit)
    words = TOKEN.findall(unit[:400])
    if unit.lstrip()[:1] in "<&|" and size < 100:
        return LoopClass.FORMAT_RUNAWAY
    if len(words) <= 1 or (len(set(words)) == 1 and size <= 40) or len(unit) <= 2:
        return LoopClass.STUCK
    if size > 160 or (unit.strip().count("\n") >= 2 and size > 100):
        return LoopClass.PARAGRAPH_LOOP
    return LoopClass.PHRASE_LOOP if size <= 40 else LoopClass.SENTENCE_LOOP


def vague_class(text: str, unit: str) -> LoopClass:
    if width(unit) > 160:
        return LoopClass.PARAGRAPH_LOOP
    kinds = len(set(TOKEN.findall(text[-400:].casefold())))
    if kinds <= 3:
        return LoopClass.STUCK
    return LoopClass.PHRASE_LOOP if kinds <= 14 else LoopClass.SENTENCE_LOOP


def dense_stretch(text: str) -> tuple[int, int, str]:
    """(start of the first copy, first character said again, the unit) of the repetition that `text` ends in."""
    spans = [(m.start(), m.group().casefold()) for m in TOKEN.finditer(text)]
    latest: dict[tuple[str, str, str], int] = {}
    words = [w for _, w in spans]
    flags: list[int] = []
    for i, gram in enumerate(zip(words, islice(words, 1, None), islice(words, 2, None), strict=False)):
        before = latest.get(gram, -1)
        flags.append(before)
        latest[gram] = i
    best, score, onset = 0.0, 0.0, max(0, len(flags) - 1)
    for i in range(len(flags) - 1, -1, -1):
        score += 1.0 if flags[i] >= 0 else -2.0
        if score > best:
            best, onset = score, i
        elif score < best - 60:
            break
    if not flags:
        return 0, min(len(text), 32), text[:32]
    origin = flags[onset] if flags[onset] >= 0 else onset
    if onset - origin > 160:  # said long before, not just before
        origin = onset
    start, begin = spans[origin][0], spans[onset][0]
    return start, begin, text[start:begin] or text[begin : begin + 32]

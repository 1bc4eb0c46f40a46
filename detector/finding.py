"""What the engine hands back when a repetition is certain: its record, its class, and where a vague one begins."""

from dataclasses import dataclass
from itertools import islice, pairwise

from detector.runs import Run
from detector.text import TOKEN, WORD, width
from detector.verdict import LoopClass, Rule

_FAR = 160  # tokens
_RUN_READ = 4000  # characters
_ROTATION = 48  # words
_LONG = 40  # characters


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


def copies(unit: str, period: int, length: int) -> int:
    """Copies of a unit in a run of `length` characters; a last one that lacks only blanks or marks counts."""
    size = max(1, period or len(unit))
    whole, rest = divmod(length, size)
    lacking = unit[rest:] if period and rest else ""
    # What follows a loop stands where its last separator would.
    return max(1, whole + bool(lacking and WORD.search(unit) and not WORD.search(lacking)))


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
    words = [w for _, w in spans]
    before = _said_before(words)
    if not before:
        return 0, min(len(text), 32), text[:32]
    onset = _dense_from([place >= 0 for place in before])
    origin = before[onset] if before[onset] >= 0 else onset
    if onset - origin > _FAR:  # said long before, not just before
        origin = onset
    first = _first_copy(words, origin)
    if first < origin:
        again = (at for at in range(first + 1, onset) if all(place >= first for place in before[at : at + 3]))
        origin, onset = first, next(again, onset)
    begin = _rotation_from(words)
    if begin < origin:
        origin, onset = begin, _said_again(words, begin, onset)
    start, begin = spans[origin][0], spans[onset][0]
    return start, begin, text[start:begin] or text[begin : begin + 32]


def first_copy(text: str, run: Run, *, drifting: bool) -> tuple[int, int]:
    """(start, first character said again) of an exact run, the copies included that drift before it settles.

    `drifting`: found by statistics, so that a rotation of few words may go before it.
    """
    start, period = run.start, run.period
    inside = TOKEN.findall(text[start : min(run.end, start + _RUN_READ)].casefold())
    spans = [(m.start(), m.group().casefold()) for m in TOKEN.finditer(text, max(0, start - _RUN_READ), start)]
    words = [word for _, word in spans] + inside
    first = _first_copy(words, len(spans)) if inside else len(spans)
    if drifting:
        first = min(first, _rotation_from(words))
    begin = spans[first][0] if first < len(spans) else start
    if period >= _LONG and (whole := text.rfind(text[start : start + period], max(0, start - 2 * period), begin)) >= 0:
        return whole, start  # a copy that says more than the others, before them
    return begin, begin + period


def _said_before(words: list[str]) -> list[int]:
    """For each trigram where it was said last, -1 if never."""
    latest: dict[tuple[str, str, str], int] = {}
    before = []
    for at, gram in enumerate(zip(words, islice(words, 1, None), islice(words, 2, None), strict=False)):
        before.append(latest.get(gram, -1))
        latest[gram] = at
    return before


def _dense_from(known: list[bool]) -> int:
    """Where the stretch up to the end begins in which most is known: new ones weigh twice."""
    best, score, begin = 0.0, 0.0, max(0, len(known) - 1)
    for at in range(len(known) - 1, -1, -1):
        score += 1.0 if known[at] else -2.0
        if score > best:
            best, begin = score, at
        elif score < best - 60:
            break
    return begin


def _rotation_from(words: list[str]) -> int:
    """Where a rotation of few words that a text ends in begins: back over words that its end says, others weigh twice."""
    size = len(words)
    few = set(words[-_ROTATION:])
    if size < _ROTATION or len(few) * 3 > _ROTATION:
        return size
    best, score, first = 0.0, 0.0, size
    for at in range(size - 1, -1, -1):
        score += 1.0 if words[at] in few else -2.0
        if score > best:
            best, first = score, at
        elif score < best - 12:
            break
    return first


def _said_again(words: list[str], begin: int, end: int) -> int:
    """The first place from `begin` on, before `end`, where three words in a row were all said since."""
    said: set[str] = set()
    for at in range(begin, end):
        if said.issuperset(words[at : at + 3]):
            return at
        said.add(words[at])
    return end


def _first_copy(words: list[str], origin: int) -> int:
    """Back from `origin` over copies that drift: most of their pairs of words come again later."""
    later = set(pairwise(words[origin:]))
    best, score, first = 0.0, 0.0, origin
    for at in range(origin - 1, -1, -1):
        score += 1.0 if (words[at], words[at + 1]) in later else -2.0
        if score > best:
            best, first = score, at
        elif score < best - 12:
            break
    return first

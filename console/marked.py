"""Marks the loop in a text: what comes before, the loop itself, what comes after.

The detector finds it anew in an excerpt, because redaction and cutting moved every offset of the whole reply.
"""

from dataclasses import dataclass

from detector import score
from detector.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """`head` may be shown, `loop` is the repetition, of which `first` is the copy that still reads well, `tail` follows."""

    head: str
    first: str
    loop: str
    tail: str
    unit: str = ""
    repeats: int = 0


def marked(text: str, *, onset: int | None = None) -> Marked:
    """Cut `text` round its repetition. `onset`: where the reply went wrong, if the detector finds nothing in the excerpt."""
    verdict = score(text)
    return cut(text, verdict) if verdict.degenerate else _at(text, onset)


def cut(text: str, verdict: Verdict) -> Marked:
    """Cut `text` by a verdict on it."""
    if not verdict.degenerate:
        return Marked(head=text, first="", loop="", tail="")
    onset = verdict.onset if verdict.onset is not None else verdict.start
    start, end = min(verdict.start, onset), max(verdict.end, onset)
    return Marked(
        head=text[:start],
        first=text[start:onset],
        loop=text[onset:end],
        tail=text[end:],
        unit=verdict.unit,
        repeats=verdict.repeats,
    )


def _at(text: str, onset: int | None) -> Marked:
    at = len(text) if onset is None else min(onset, len(text))
    return Marked(head=text[:at], first="", loop=text[at:], tail="")


def marked_span(text: str, start: int, end: int) -> Marked:
    """Cut `text` at a span that is already known, [start, end); an empty span marks nothing."""
    start, end = min(start, len(text)), min(end, len(text))
    return Marked(head=text[:start], first="", loop=text[start:end], tail=text[end:])

"""One stored reply, as it is judged again; and how it is read from a line of JSON.

A line is `{"text": …}` (or `{"reply": …}`) with, where known: id, at (seconds since the epoch, or ISO 8601), model, scene, profile, history or
messages (the conversation before it), label (healthy, degenerate; others are left out of what is labelled), and what was
said of it then: degenerate (true, false) or a verdict's record as `pointsman score` writes it. What `pointsman export answers`
writes is read as well.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from detector.batch import previous_reply, reply_of

LABELS = {"healthy": False, "wrong": False, "degenerate": True, "right": True}
"""A label, or a person's mark on a verdict that flagged the reply, as: was it really degenerate?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A reply. `text` None: only its figures were kept. `truth`: what a person says of it, None where nobody did."""

    id: str
    text: str | None
    at: float | None = None
    model: str = ""
    scene: str = ""
    profile: str | None = None
    previous: str | None = None
    truth: bool | None = None
    said: bool | None = None
    """The verdict when it was first judged, where known."""
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that is no reply, and why."""

    number: int
    why: str


def read_lines(lines: Iterable[bytes]) -> Iterator[Stored | BadLine]:
    """Every line that is not blank, in order."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _stored(reply_of(line), number)
        except (ValueError, RecursionError) as error:
            yield BadLine(number=number, why=str(error))


def _stored(data: Mapping[str, Any], number: int) -> Stored:
    text: str = data["text"]
    profile = data.get("profile")
    if profile is not None and not isinstance(profile, str):
        raise ValueError('"profile" is not a string')
    return Stored(
        id=str(data.get("id") or data.get("prompt_id") or number),
        # An answer to a suite prompt whose text is past its time: only its figures are left.
        text=None if not text and data.get("reply_chars") else text,
        at=_moment(data.get("at")),
        model=str(data.get("model") or ""),
        scene=str(data.get("scene") or data.get("category") or data.get("lure") or ""),
        profile=profile,
        previous=previous_reply(data),
        truth=LABELS.get(str(data.get("label", ""))),
        said=_said(data),
    )


def _moment(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool):
        raise ValueError('"at" is no moment')
    if isinstance(value, int | float):
        return float(value)
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f'"at" is no moment: {value!r}; seconds since the epoch or 2026-01-31T08:00:00Z') from None
    if found.tzinfo is None:
        raise ValueError(f'"at" names no time zone: {value!r}; end it with Z or +08:00')
    return found.timestamp()


def _said(data: Mapping[str, Any]) -> bool | None:
    verdict = data.get("verdict")
    value = verdict.get("degenerate") if isinstance(verdict, dict) else data.get("degenerate", data.get("ill"))
    return value if isinstance(value, bool) else None

"""Reasoning that a model writes into its text between `<think>` and `</think>`, told apart from the text.

Pure. Events of a stream may be cut inside a tag; an event waits until each of its characters has its place.
Tags are passed on and not judged: whatever is dropped of a looping thought, the client's parser sees it closed.
"""

from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from detector import Channel, ThinkSplitter

_TAGS = ("<think>", "<thinking>", "</think>", "</thinking>")
_LEAD_CHARS = 200
_Event = TypeVar("_Event")


class Place(StrEnum):
    """What a stretch of a reply's content is."""

    TEXT = "text"
    THOUGHT = "thought"
    TAG = "tag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted(Generic[_Event]):
    """One event's content, in order and whole."""

    event: _Event
    parts: tuple[tuple[Place, str], ...]


class InlineParter(Generic[_Event]):
    """Feed each event's content in order; get back the events that are sure. `over`: no thought can come any more."""

    def __init__(self) -> None:
        self.over = False
        self._splitter = ThinkSplitter()
        self._events: deque[tuple[_Event, int]] = deque()
        self._parts: deque[tuple[Place, str]] = deque()
        self._sure_chars = 0

    def feed(self, event: _Event, content: str) -> list[Parted[_Event]]:
        self._events.append((event, len(content)))
        self._sort(self._splitter.feed(content))
        out = self._sure()
        self.over = self.over and not self._events
        return out

    def finish(self) -> list[Parted[_Event]]:
        self._sort(self._splitter.finish())
        return self._sure()

    def _sort(self, pieces: tuple[tuple[Channel, str], ...]) -> None:
        for channel, piece in pieces:
            self._sure_chars += len(piece)
            if channel is Channel.TEXT:
                self._parts.append((Place.TEXT, piece))
                # Reasoning opens only at the start of a reply: after words of text there is none.
                self.over = self.over or not piece.isspace()
                continue
            tag = next((tag for tag in _TAGS if piece.endswith(tag)), "")
            if thought := piece[: len(piece) - len(tag)]:
                self._parts.append((Place.THOUGHT, thought))
            if tag:
                self._parts.append((Place.TAG, tag))

    def _sure(self) -> list[Parted[_Event]]:
        out = []
        while self._events and self._events[0][1] <= self._sure_chars:
            event, size = self._events.popleft()
            self._sure_chars -= size
            out.append(Parted(event=event, parts=tuple(self._taken(size))))
        return out

    def _taken(self, size: int) -> list[tuple[Place, str]]:
        taken = []
        while size:
            place, text = self._parts.popleft()
            if len(text) > size:
                self._parts.appendleft((place, text[size:]))
                text = text[:size]
            taken.append((place, text))
            size -= len(text)
        lead = taken[0] if len(taken) > 1 else None
        if lead is not None and lead[0] is Place.TEXT and taken[1][0] is Place.TAG:
            # Blanks in front of the opening tag stay in front of it.
            taken[0] = (Place.TAG, lead[1])
        return taken


def split_inline(content: str) -> tuple[str, str, str]:
    """A whole content as (what stands up to the end of its thoughts, the thoughts without tags, the text)."""
    if "<think" not in content[:_LEAD_CHARS]:
        return "", "", content
    parter: InlineParter[None] = InlineParter()
    parted = (*parter.feed(None, content), *parter.finish())
    parts = [part for event in parted for part in event.parts]
    last = max((at for at, (place, _) in enumerate(parts) if place is not Place.TEXT), default=-1)
    head = "".join(text for _, text in parts[: last + 1])
    thought = "".join(text for place, text in parts if place is Place.THOUGHT)
    return head, thought, content[len(head) :]

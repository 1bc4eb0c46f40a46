"""The queue between the gate and the client: events wait here until the gate has cleared their text.

Events leave in the order they came. An event whose text was cleared whole leaves with its original bytes; one that was
cleared in part, or lost its text to a loop, is written anew. Events without text (tools, usage) wait only for what stands before them.
Pure: no clock, no socket.
"""

from collections import deque
from typing import Any

import msgspec

from upstream.attempt import Piece

TEXT, REASONING, INLINE = 0, 1, 2
"""INLINE: reasoning in front of the text in the same field, see inline.py."""
CHANNELS = (TEXT, REASONING, INLINE)
_CONTENT, _THOUGHT = ("content", "text"), ("reasoning_content", "reasoning")


class _Entry:
    __slots__ = ("cleared", "data", "finish_reason", "tools", "usage", "waiting", "whole")

    def __init__(
        self,
        data: bytes,
        text: str = "",
        reasoning: str = "",
        inline: str = "",
        *,
        tools: bool = False,
        finish_reason: str | None = None,
        usage: bool = False,
    ) -> None:
        self.data = data
        self.tools = tools
        self.finish_reason = finish_reason
        self.usage = usage
        self.whole = [text, reasoning, inline]
        self.waiting = [text, reasoning, inline]
        self.cleared = ["", "", ""]


class Held:
    """Add events, clear text per channel, take pieces."""

    def __init__(self) -> None:
        self.queue: deque[_Entry] = deque()
        """What waits. Who asks at every event whether anything does looks here: `bool` is a call."""
        self._envelope = b"{}"

    def __bool__(self) -> bool:
        return bool(self.queue)

    def add(self, piece: Piece, inline: str = "") -> None:
        """Queue one event; its `text`, its `reasoning` and its `inline` reasoning wait to be cleared."""
        if piece.text or piece.reasoning or inline:
            self._envelope = piece.data
        self.queue.append(
            _Entry(
                piece.data,
                piece.text,
                piece.reasoning,
                inline,
                tools=piece.tools,
                finish_reason=piece.finish_reason,
                usage=piece.usage,
            )
        )

    def clear(self, channel: int, text: str) -> None:
        """The gate says `text` of `channel` may go: matched against what waits, front first."""
        last = None
        for entry in self.queue:
            waits = entry.waiting[channel]
            if waits:
                last = entry
            if not text:
                return
            if not waits:
                continue
            if text.startswith(waits):
                entry.cleared[channel] += waits
                entry.waiting[channel] = ""
                text = text[len(waits) :]
            elif waits.startswith(text):
                entry.cleared[channel] += text
                entry.waiting[channel] = waits[len(text) :]
                return
            else:
                break
        if text:
            self._after_a_gap(channel, text, last)

    def _after_a_gap(self, channel: int, text: str, last: _Entry | None) -> None:
        """Text was dropped in between (a loop that recovered): what waits is gone, and `text` rides on the newest event."""
        carrier = last
        for entry in self.queue:
            if entry.waiting[channel]:
                carrier = entry
        self.drop(channel)
        if carrier is None and self.queue:
            carrier = self.queue[-1]
        if carrier is None:
            carrier = _Entry(_bare(self._envelope))
            self.queue.append(carrier)
        carrier.cleared[channel] += text

    def clear_all(self, channel: int) -> None:
        """Nothing is judged any more: all that waits in `channel` may go."""
        for entry in self.queue:
            entry.cleared[channel] += entry.waiting[channel]
            entry.waiting[channel] = ""

    def drop(self, channel: int) -> None:
        """What waits in `channel` will never be sent."""
        for entry in self.queue:
            entry.waiting[channel] = ""

    def take(self) -> list[Piece]:
        """The pieces at the front that wait for nothing more."""
        out = []
        queue = self.queue
        while queue and not any(queue[0].waiting):
            if (piece := _piece(queue.popleft())) is not None:
                out.append(piece)
        head = queue[0] if queue else None
        if head is not None and any(head.cleared):
            # Cleared in part: that part goes now, the rest of the event stays and keeps whatever else it carries.
            part = _Entry(_bare(head.data))
            part.cleared, head.cleared = head.cleared, ["", "", ""]
            if (piece := _piece(part)) is not None:
                out.append(piece)
        return out


def _piece(entry: _Entry) -> Piece | None:
    data = entry.data if entry.cleared == entry.whole else _rewritten(entry)
    if not data:
        return None
    return Piece(
        data=data,
        text=entry.cleared[TEXT],
        reasoning=entry.cleared[REASONING] + entry.cleared[INLINE],
        tools=entry.tools,
        finish_reason=entry.finish_reason,
        usage=entry.usage,
    )


def _holder(body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first choice and the object in it that holds the text, made if absent."""
    if not body.get("choices"):
        body["choices"] = [{"index": 0, "delta": {}, "finish_reason": None}]
    choice: dict[str, Any] = body["choices"][0]
    if isinstance(choice.get("text"), str):
        return choice, choice
    if not isinstance(choice.get("delta"), dict):
        choice["delta"] = {}
    return choice, choice["delta"]


def _rewritten(entry: _Entry) -> bytes:
    """The event with only the cleared text; empty when nothing worth sending is left."""
    if not (any(entry.cleared) or entry.finish_reason or entry.usage or entry.tools):
        return b""
    body: dict[str, Any] = msgspec.json.decode(entry.data)
    choice, holder = _holder(body)
    for said, names in ((entry.cleared[INLINE] + entry.cleared[TEXT], _CONTENT), (entry.cleared[REASONING], _THOUGHT)):
        there = [name for name in names if holder.get(name)]
        for name in there or ([names[0]] if said else []):
            holder[name] = said
    # The probabilities of dropped tokens would tell the dropped text.
    choice.pop("logprobs", None)
    return msgspec.json.encode(body)


def _bare(data: bytes) -> bytes:
    """An event's envelope without text, tools, end and usage."""
    body: dict[str, Any] = msgspec.json.decode(data)
    choice, holder = _holder(body)
    choice["finish_reason"] = None
    holder.pop("tool_calls", None)
    body.pop("usage", None)
    for name in (*_CONTENT, *_THOUGHT):
        if holder.get(name):
            holder[name] = ""
    return msgspec.json.encode(body)

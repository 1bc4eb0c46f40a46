"""Parts inline `<think>` reasoning from the text of a stream, so that each gets a gate of its own.

In:  deltas of content, cut anywhere, also inside a tag.
Out: (channel, text) pieces in order; tags belong to the reasoning.
"""

from enum import StrEnum


class Channel(StrEnum):
    """Which part of a reply a piece belongs to."""

    TEXT = "text"
    REASONING = "reasoning"


_OPEN = ("<think>", "<thinking>")
_CLOSE = ("</think>", "</thinking>")


class ThinkSplitter:
    """Splits one content stream; keeps at most a tag's length back. Joined pieces are the input, always."""

    def __init__(self) -> None:
        self.channel = Channel.TEXT
        self._rest = ""
        self._begun = False

    def feed(self, delta: str) -> tuple[tuple[Channel, str], ...]:
        """Return the pieces that are certain now."""
        if not self._rest and "<" not in delta:
            self._begun = self._begun or not delta.isspace()
            return ((self.channel, delta),) if delta else ()
        text, self._rest = self._rest + delta, ""
        pieces: list[tuple[Channel, str]] = []
        while text:
            text = self._next(text, pieces)
        return tuple(pieces)

    def finish(self) -> tuple[tuple[Channel, str], ...]:
        """Return what was kept back."""
        rest, self._rest = self._rest, ""
        return ((self.channel, rest),) if rest else ()

    def _next(self, text: str, pieces: list[tuple[Channel, str]]) -> str:
        tags = _OPEN if self.channel is Channel.TEXT else _CLOSE
        at = text.find("<")
        while at >= 0:
            tag = next((t for t in tags if text.startswith(t, at)), None)
            if tag is not None:
                # Reasoning opens only at the very start of the reply: elsewhere `<think>` is talk about the tag.
                if self.channel is Channel.REASONING or not (self._begun or text[:at].strip()):
                    return self._switch(text, at, tag, pieces)
            elif any(t.startswith(text[at:]) for t in tags):
                break
            at = text.find("<", at + 1)
        head, self._rest = (text, "") if at < 0 else (text[:at], text[at:])
        if head:
            self._begun = self._begun or not head.isspace()
            pieces.append((self.channel, head))
        return ""

    def _switch(self, text: str, at: int, tag: str, pieces: list[tuple[Channel, str]]) -> str:
        stop = at + len(tag)
        if self.channel is Channel.TEXT:
            if at:
                pieces.append((Channel.TEXT, text[:at]))
            pieces.append((Channel.REASONING, text[at:stop]))
            self.channel = Channel.REASONING
        else:
            pieces.append((Channel.REASONING, text[:stop]))
            self.channel, self._begun = Channel.TEXT, True
        return text[stop:]

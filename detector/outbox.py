"""What of a reply has gone out, and its authoritative text: what was said without its loops, in bounded memory."""


class Outbox:
    """`shown` counts the characters released; `text` is what conversations go on with."""

    def __init__(self, most: int) -> None:
        self.shown = 0
        self._most = most  # of longer replies only the last `most` characters are surely kept
        self._parts: list[str] = []
        self._size = 0

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def send(self, text: str) -> str:
        """Note and hand back what goes out."""
        if text:
            self.shown += len(text)
            self._parts.append(text)
            self._size += len(text)
            if self._size > 2 * self._most:
                tail = "".join(self._parts)[-self._most :]
                self._parts, self._size = [tail], len(tail)
        return text

    def retract(self, drop: int) -> None:
        """Take the last `drop` characters from the authoritative text: shown, but part of a loop."""
        while self._parts and drop > 0:
            last = self._parts.pop()
            keep = last[: max(0, len(last) - drop)]
            drop -= len(last) - len(keep)
            self._size -= len(last) - len(keep)
            if keep:
                self._parts.append(keep)

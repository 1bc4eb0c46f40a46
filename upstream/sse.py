"""Server-sent events out of bytes, however the bytes were cut.

In:  bytes as they were read. Out: the data of each complete event, original bytes.
Comments (keep-alives), `event:`, `id:` and `retry:` lines are dropped; several `data:` lines are joined by a newline.
Pure: no decoding of text happens here, so a character split over two reads stays whole.
"""

from base.faults import Fault
from upstream.errors import Garbled

MAX_EVENT_BYTES = 8 * 1024 * 1024
"""Images in a delta reach megabytes; beyond this an upstream is not speaking SSE but filling our memory."""


class SseSplitter:
    """Feed bytes, take events. Raises Garbled when one event grows past `max_event_bytes`."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._rest = bytearray()
        self._searched = 0
        self._cr = False
        self._begun = False

    def feed(self, data: bytes) -> list[bytes]:
        if self._cr or b"\r" in data:
            data = self._one_line_ending(data)
        rest = self._rest
        if not rest and self._begun and data.endswith(b"\n\n"):
            # Whole events in one read, as nearly always.
            return [found for block in data[:-2].split(b"\n\n") if (found := event_data(block)) is not None]
        rest += data
        # The border may lie across the seam, hence one byte back; searching anew from 0 would be quadratic byte by byte.
        border = rest.rfind(b"\n\n", max(0, self._searched - 1))
        if border < 0:
            self._searched = len(rest)
            if len(rest) > self._max:
                raise Garbled(Fault.GARBLED_PROTOCOL, "event too large")
            return []
        whole = bytes(rest[: border + 1])
        del rest[: border + 2]
        self._searched = len(rest)
        if not self._begun:
            self._begun = True
            whole = whole.removeprefix(b"\xef\xbb\xbf")
        return [found for block in whole.split(b"\n\n") if (found := event_data(block)) is not None]

    @property
    def between(self) -> bool:
        """Whether the next byte begins an event."""
        return self._begun and not (self._rest or self._cr)

    def single(self, data: bytes) -> bytes | None:
        """The data of a read that is one whole event in one line, as nearly always; None: nothing was taken, `feed` it."""
        if self._rest or self._cr or not self._begun or not data.startswith(b"data: ") or not data.endswith(b"\n\n"):
            return None
        return None if data.find(b"\n") != len(data) - 2 or b"\r" in data else data[6:-2]

    def finish(self) -> list[bytes]:
        """What a peer left without its closing blank line: some end the stream right after `data: [DONE]`."""
        tail = bytes(self._rest).strip(b"\n")
        self._rest.clear()
        self._searched = 0
        found = event_data(tail) if tail else None
        return [] if found is None else [found]

    def _one_line_ending(self, data: bytes) -> bytes:
        if self._cr:
            data = b"\r" + data
        # A carriage return at the end may be half of CRLF: it waits for the next byte.
        self._cr = data.endswith(b"\r")
        if self._cr:
            data = data[:-1]
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def event_data(block: bytes) -> bytes | None:
    """The data of one event's lines; None when it has none."""
    if block.startswith(b"data: ") and b"\n" not in block:
        return block[6:]
    parts = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(parts) if parts else None

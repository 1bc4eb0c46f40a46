"""Events of one stream that differ in nothing but their text: known again without reading their JSON again.

Pure. Vendors write every event of a stream by one pattern; what stands before and after the text is kept from an event that
was read in full, and an event with the same bytes around another plain text says that other text and nothing else. Why
that is sure: the bytes hold no escape, so each quoted stretch is one string as written, and the text stood there only once.
"""

TRIES = 8
"""Events in a row that were not alike, after which nothing is kept any more: some vendors pad each event with noise."""
SIZES = 1024
"""Of chunks, for which the beginning is kept; a peer that makes each read another size costs no more than these."""


def events_in(read: bytes) -> list[bytes]:
    """The data of each event in a read that `Mould.in_chunks` knew."""
    found, at = [], 0
    while at < len(read):
        end = _end_of_chunk(read, at)
        found.append(read[read.find(b"\r\n", at) + 8 : end - 4])
        at = end
    return found


def _end_of_chunk(read: bytes, at: int) -> int:
    """Where the chunk of HTTP that begins at `at` ends by its own word; 0: it does not say."""
    line = read.find(b"\r\n", at, at + 8)
    try:
        return line + 4 + int(read[at:line], 16) if line > at else 0
    except ValueError:
        return 0


class Mould:
    """`press` an event that was read in full, then ask `text` of those that follow it."""

    __slots__ = ("_after", "_after_in_chunk", "_before", "_before_in_chunk", "_least", "_tries")

    def __init__(self) -> None:
        self._before, self._after, self._least = b"", b"", 0
        self._before_in_chunk: dict[int, bytes] = {}
        """By the size of the chunk: what is the same in all of that size is compared at a stroke."""
        self._after_in_chunk = b""
        self._tries = TRIES

    def text(self, data: bytes) -> str:
        """The text of an event that is like the one pressed; empty: nobody knows, it has to be read."""
        before = self._before
        if not before or len(data) < self._least or not data.startswith(before) or not data.endswith(self._after):
            return ""
        text = text_in(data[len(before) : -len(self._after)])
        if text:
            self._tries = TRIES
        return text

    @property
    def pressed(self) -> bool:
        """Whether there is anything to know an event by."""
        return bool(self._before)

    def in_chunks(self, read: bytes) -> list[str]:
        """`text` of each event of a read off the wire: whole chunks of HTTP that hold one such event each; empty for all else."""
        if text := self._in_chunk(read):
            return [text]
        texts, at = [], 0
        while at < len(read):
            end = _end_of_chunk(read, at)
            if end <= at or not (text := self._in_chunk(read[at:end])):
                return []
            texts.append(text)
            at = end
        return texts

    def _in_chunk(self, chunk: bytes) -> str:
        size = len(chunk)
        before = self._before_in_chunk.get(size) or self._chunk_before(size)
        if not before or not chunk.startswith(before) or not chunk.endswith(self._after_in_chunk):
            return ""
        text = text_in(chunk[len(before) : -len(self._after_in_chunk)])
        if text:
            self._tries = TRIES
        return text

    def press(self, data: bytes, text: str) -> None:
        """`text`: all that this event says."""
        self._tries -= 1
        if self._tries < 0:
            self._forget()
            return
        if b"\\" in data or not text.isprintable():
            return  # a line break, mostly: what is kept is as sure as before, and the next event is like it
        quoted = b'"%b"' % text.encode()
        at = data.find(quoted)
        if at < 0 or data.rfind(quoted) != at:
            return
        self._before, self._after = data[: at + 1], data[at + len(quoted) - 1 :]
        self._least = len(self._before) + 1 + len(self._after)
        self._after_in_chunk = self._after + b"\n\n\r\n"
        self._before_in_chunk.clear()

    def _forget(self) -> None:
        self._before = b""
        self._before_in_chunk.clear()

    def _chunk_before(self, size: int) -> bytes:
        """What stands before the text in a chunk of `size` bytes, its frame included; empty: no event of ours is so short."""
        for digits in range(1, 7):
            held = size - digits - 4
            if held >> 4 * digits == 0:
                break
        # No chunk has a size just past a power of 16: one digit more is one byte more of frame.
        if not self._before or held < self._least + 8 or len(b"%x" % held) != digits:
            return b""
        if len(self._before_in_chunk) >= SIZES:
            self._before_in_chunk.clear()
        before = self._before_in_chunk[size] = b"%x\r\ndata: %b" % (held, self._before)
        return before


def text_in(said: bytes) -> str:
    """What stands between two quotation marks of JSON as the plain text that it is; empty: it is not as plain as that."""
    if b'"' in said or b"\\" in said:
        return ""
    try:
        text = said.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""  # no string of JSON holds a control character

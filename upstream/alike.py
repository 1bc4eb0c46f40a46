"""Events of one stream that differ in nothing but their text: known again without reading their JSON again.

Pure. Vendors write every event of a stream by one pattern; what stands before and after the text is kept from an event that
was read in full, and an event with the same bytes around another plain text says that other text and nothing else. Why
that is sure: the bytes hold no escape, so each quoted stretch is one string as written, and the text stood there only once.
"""

TRIES = 8
"""Events in a row that were not alike, after which nothing is kept any more: some vendors pad each event with noise."""


class Mould:
    """`press` an event that was read in full, then ask `text` of those that follow it."""

    __slots__ = ("_after", "_before", "_least", "_tries")

    def __init__(self) -> None:
        self._before, self._after, self._least = b"", b"", 0
        self._tries = TRIES

    def text(self, data: bytes) -> str:
        """The text of an event that is like the one pressed; empty: nobody knows, it has to be read."""
        before = self._before
        if not before or len(data) < self._least or not data.startswith(before) or not data.endswith(self._after):
            return ""
        said = data[len(before) : -len(self._after)]
        if b'"' in said or b"\\" in said:
            return ""
        try:
            text = said.decode()
        except UnicodeDecodeError:
            return ""
        if not text.isprintable():  # no string of JSON holds a control character
            return ""
        self._tries = TRIES
        return text

    def press(self, data: bytes, text: str) -> None:
        """`text`: all that this event says."""
        self._tries -= 1
        if self._tries < 0 or b"\\" in data or not text.isprintable():
            self._before = b""
            return
        quoted = b'"%b"' % text.encode()
        at = data.find(quoted)
        if at < 0 or data.rfind(quoted) != at:
            self._before = b""
            return
        self._before, self._after = data[: at + 1], data[at + len(quoted) - 1 :]
        self._least = len(self._before) + 1 + len(self._after)

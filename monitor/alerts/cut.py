"""Shortens Markdown to a number of bytes without breaking a character, a line, a link or a code block."""

ELLIPSIS = "\n…"
FENCE = "```"


def cut(text: str, limit_bytes: int, tail: str = "") -> str:
    """Return `text`, or its longest head of whole lines (else of whole characters) with `…`, in at most `limit_bytes`.

    `tail` (a link to the whole) is put behind a text that was cut, if there is room for it and some text.
    """
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return raw.decode("utf-8")
    end = ELLIPSIS + tail
    if len(end.encode()) * 2 > limit_bytes:
        end = ELLIPSIS
    room = limit_bytes - len(end.encode()) - len(FENCE) - 1  # an open code block must still be closed
    if room <= 0:
        return ""
    head = raw[:room].decode("utf-8", "ignore")
    whole_lines = head.rpartition("\n")[0]
    head = whole_lines or _whole_marks(head)
    if head.count(FENCE) % 2:
        head += "\n" + FENCE
    return head + end


def _whole_marks(line: str) -> str:
    """The line without a link, a bold or a code mark that was opened and not closed in it."""
    opened = line.rfind("[")
    if opened >= 0 and ")" not in line[opened:]:
        line = line[:opened]
    for mark in ("**", "`"):
        if line.count(mark) % 2:
            line = line[: line.rfind(mark)] + line[line.rfind(mark) + len(mark) :]
    return line

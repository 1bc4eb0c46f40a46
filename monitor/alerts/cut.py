"""Shortens text to a number of bytes without breaking a character or a line of Markdown."""

ELLIPSIS = "\n…"


def cut(text: str, limit_bytes: int) -> str:
    """Return `text`, or its longest head of whole lines (else of whole characters) with `…`, in at most `limit_bytes`."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return raw.decode("utf-8")
    room = max(0, limit_bytes - len(ELLIPSIS.encode()))
    head = raw[:room].decode("utf-8", "ignore")
    whole_lines = head.rpartition("\n")[0]
    return (whole_lines or head) + ELLIPSIS if room else ""

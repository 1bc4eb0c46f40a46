"""The name of a request: the client's own `x-request-id` where it is safe and new, else one of ours.

A request is found by its name in logs, rows and feedback, so a name must be harmless to write and stand for one request:
what is too short to be anybody's own, too long, of other characters or seen here before is passed over without a word.
"""

import re

from base.ids import new_request_id

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{7,63}")
"""At least 8 characters: a counter or a constant is nobody's name. At most 64: the column of the call log."""
_OURS = "pm-"
KEPT = 8_192
"""Names remembered: some megabyte. A client library that asks again soon sends the same one."""


class RequestIds:
    """One per worker."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._seen: dict[str, None] = {}

    def name(self, asked: str | None) -> str:
        """The request's id; `asked`: the client's header."""
        name = safe(asked)
        if name is None or name in self._seen:
            return new_request_id()
        self._seen[name] = None
        if len(self._seen) > self._kept:
            del self._seen[next(iter(self._seen))]
        return name


def safe(asked: str | None) -> str | None:
    """The client's own name if it may be written and quoted; None: it sent none, or no such one."""
    good = asked is not None and not asked.startswith(_OURS) and _SAFE.fullmatch(asked) is not None
    return asked if good else None

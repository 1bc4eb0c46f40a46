"""What the user got, and how much of a reply that failed they saw: told of an excerpt, most of which may have been shown.

In:  how a request ended and what the gate held back.  Out: keys of the locale, below `fallback.`, `got.` and `request.`.
"""

from collections.abc import Sequence

INSTEAD = frozenset({"model", "phrase", "spare"})
"""What the user got in the place of the failed reply; a splice and a cut begin with it."""


ERROR, LEFT = "error", "left"
"""What the user got where a request ended with an error and nothing stood in for the reply; and where the client left before that."""
LEFT_STATUS = 499


def got(fallback: str, status: int) -> str:
    """A key below `fallback.` (in short) and `got.`: a request that is refused has no fallback either, and is no first reply."""
    if status < 400 or fallback != "none":
        return fallback
    return LEFT if status == LEFT_STATUS else ERROR


def hidden(fallback: str, status: int, stream: bool, suppressed: Sequence[int]) -> tuple[str, int]:
    """`suppressed`: characters never shown, of each failed attempt of the model. ("", 0) where nobody can tell."""
    if fallback in INSTEAD or (status >= 400 and not stream):
        return "none_shown", 0
    if len(suppressed) == 1 and suppressed[0]:
        return "part_hidden", suppressed[0]
    return "", 0

"""How much of a reply that failed the user saw: told of an excerpt, most of which may have been shown.

In:  what the user got and what the gate held back.  Out: a key of the locale below `request.`, and its number.
"""

from collections.abc import Sequence

INSTEAD = frozenset({"model", "phrase", "spare"})
"""What the user got in the place of the failed reply; a splice and a cut begin with it."""


def hidden(fallback: str, status: int, stream: bool, suppressed: Sequence[int]) -> tuple[str, int]:
    """`suppressed`: characters never shown, of each failed attempt of the model. ("", 0) where nobody can tell."""
    if fallback in INSTEAD or (status >= 400 and not stream):
        return "none_shown", 0
    if len(suppressed) == 1 and suppressed[0]:
        return "part_hidden", suppressed[0]
    return "", 0

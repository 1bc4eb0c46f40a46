"""What is wrong with a silence before it is made: a kind that there is none of, names that fit nothing now, one that runs already.

Decides over records. In: what is asked, the names there are, the silences that are not over.  Out: fields, or the one that runs.
"""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from console.alerts_ports import MATCHERS, SilenceAsked, SilenceRow

Known = Callable[[str], Sequence[str] | None]
"""The names there are now for a field of MATCHERS; None where nobody can tell."""


def unmatched(asked: SilenceAsked, known: Known) -> list[str]:
    """The fields whose name or glob fits nothing there is now."""
    out = []
    for field in MATCHERS:
        pattern, names = getattr(asked, field), known(field)
        if pattern and names is not None and not any(fnmatchcase(name, pattern) for name in names):
            out.append(field)
    return out


def running(asked: SilenceAsked, silences: Iterable[SilenceRow]) -> SilenceRow | None:
    """The silence of the same things that holds when this one would begin."""
    for one in silences:
        same = all(getattr(one, field) == getattr(asked, field) for field in MATCHERS)
        begins = one.starts_at if asked.starts_at is None and one.state == "active" else asked.starts_at
        if same and begins is not None and one.starts_at <= begins < one.ends_at:
            return one
    return None

"""A model whose vendor turns us away: no level says so, since it tells nothing of the model, and yet it serves nobody.

In:  the endpoints that are left alone.  Out: whether anybody answers, and the words for it.
"""

from collections.abc import Callable, Sequence

from console.fleet_ports import Refusal
from console.words import Words

LONG_WAIT_S = 60.0
"""A vendor that asks us to wait for less is asked again before a person has read of it."""
REFUSED = "refused"
"""Where a model stands, beside its levels: the word of the pages, of the admin JSON and of the command line."""


def nobody_answers(refusals: Sequence[Refusal]) -> bool:
    """Whether every endpoint is left alone, and not only for a moment."""
    if not refusals or any(one.others for one in refusals):
        return False
    return any(not one.waits or one.again_at - one.told_at >= LONG_WAIT_S for one in refusals)


def words_of(refusals: Sequence[Refusal], now_s: float, t: Words, at: Callable[[float], str]) -> str:
    """One sentence: who is turned away, by which status, and when it is asked again. `at` writes a moment."""
    first = gravest(refusals)
    kind = "waits" if first.waits else "refused"
    again = t("refusal.again_at", at=at(first.again_at)) if first.again_at > now_s else t("refusal.again_next")
    said = t(f"refusal.{kind}", status=first.status or "?", again=again)
    return t("refusal.some", said=said, n=len(refusals), all=len(refusals) + first.others) if first.others else said


def gravest(refusals: Sequence[Refusal]) -> Refusal:
    """The one to tell of: a refusal before a wait, then the one that is asked again first."""
    return min(refusals, key=lambda one: (one.waits, one.again_at))

"""Who serves a session of a model that has a gray release under way.

Decides; chance is not asked: a session stays where it is.
In:  the first rung of a request.  Out: the same rung, or the candidate's, marked with the arm it counts under.
Only first attempts are split: who comes after a failure is no fair sample, and is better served by what is proven.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from router.deps import Rung
from router.ports import GraySplits
from router.topology import Model


def under_release(
    rung: Rung,
    session: str,
    splits: GraySplits | None,
    models: Mapping[str, Model],
    awake: Callable[[Model], int | None],
) -> Rung:
    """`awake`: a model's first endpoint that does not rest; a candidate without one leaves the session where it was."""
    drawn = splits.drawn(rung.model.name, session) if splits is not None else None
    if drawn is None:
        return rung
    if drawn.model == rung.model.name:
        return replace(rung, arm=drawn.arm)
    candidate = models.get(drawn.model)
    endpoint = awake(candidate) if candidate is not None else None
    if candidate is None or endpoint is None:
        return rung
    # The stable version is still there to fall back to.
    return replace(rung, model=candidate, endpoint=endpoint, last=False, arm=drawn.arm)

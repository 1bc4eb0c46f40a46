"""What an operator may order: a forced mode with an end, its early end, and a reset.

In:  Snapshot, who, why, until when.  Out: the next document; the same object when it is already so.
"""

import math
from dataclasses import replace

from breaker.edges import RefusedMove, told
from breaker.levels import Level, Mode, Reason
from breaker.policy import BreakerPolicy
from breaker.snapshot import Snapshot


def force(
    here: Snapshot, mode: Mode, actor: str, reason: str, until: float, now_s: float, policy: BreakerPolicy | None = None
) -> Snapshot:
    """Return the document with the mode an operator set; `here` itself when it is already so.

    `until` (seconds since the epoch) ends a forced mode by itself; only OBSERVE may have 0.0, no end. AUTO ends a forced
    mode now. Raises RefusedMove without actor, reason or a moment in the future.
    """
    if mode is Mode.AUTO:
        if here.mode is Mode.AUTO:
            return here
        return mode_ends(here, policy or BreakerPolicy(), now_s, Reason.OPERATOR, actor=actor, note=reason)
    if not actor or not reason:
        raise RefusedMove("a forced mode needs an actor and a reason")
    if not now_s < until < math.inf and not (mode is Mode.OBSERVE and until == 0.0):
        raise RefusedMove("a forced mode needs an expiry in the future")
    if (here.mode, here.mode_until, here.mode_actor, here.mode_reason) == (mode, until, actor, reason):
        return here
    level = Level.OPEN if mode is Mode.FORCED_OPEN else Level.HEALTHY
    moved = replace(
        here,
        mode=mode,
        mode_actor=actor,
        mode_reason=reason,
        mode_until=until,
        level=level,
        would_be=None,
        since=now_s if (level is not here.level or here.mode is not mode) else here.since,
        until=0.0,
        reasons=(Reason.OPERATOR,),
        cause=(Reason.OPERATOR,) if level is Level.OPEN else (),
    )
    numbers = (("until", until),) if until else ()
    return told(here, moved, to=level, at=now_s, numbers=numbers, actor=actor, note=f"{mode}: {reason}")


def reset(here: Snapshot, actor: str, reason: str, now_s: float) -> Snapshot:
    """Return the model HEALTHY, in AUTO, with empty windows: the one edge outside the order. Raises RefusedMove."""
    if not actor or not reason:
        raise RefusedMove("a reset needs an actor and a reason")
    moved = Snapshot(
        model=here.model,
        epoch=here.epoch,
        since=now_s,
        watermark=now_s,
        reasons=(Reason.OPERATOR,),
        fence=here.fence,
    )
    if replace(here, transitions=(), reasons=moved.reasons) == moved:
        return here
    return told(here, moved, to=Level.HEALTHY, at=now_s, actor=actor, note=f"reset: {reason}")


def mode_ends(
    here: Snapshot, policy: BreakerPolicy, now_s: float, reason: Reason, *, actor: str, note: str
) -> Snapshot:
    """AUTO again. A forced open proves itself by probes first; the other modes go on from HEALTHY with their counts."""
    opened = here.mode is Mode.FORCED_OPEN
    level = Level.RECOVERING if opened else Level.HEALTHY
    moved = replace(
        here,
        mode=Mode.AUTO,
        mode_actor="",
        mode_reason="",
        mode_until=0.0,
        level=level,
        would_be=None,
        since=now_s,
        watermark=now_s if opened else here.watermark,
        until=now_s + policy.probe_timeout_s if opened else 0.0,
        reasons=(reason,),
    )
    return told(here, moved, to=level, at=now_s, actor=actor, note=note)

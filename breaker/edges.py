"""The edges between levels, and what each leaves in the document.

In:  Snapshot and the level to enter.  Out: the document one epoch on, with the transition that tells of it.
Every other edge is refused with a reason.  Source: BREAKER.md, State document and Coming back.
"""

from dataclasses import replace

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.recovery import cooldown_s, forgiven, is_hard
from breaker.snapshot import KEPT_TRANSITIONS, Snapshot, Transition

UP = frozenset(
    {
        (Level.HEALTHY, Level.WARN),
        (Level.HEALTHY, Level.REDUCED),
        (Level.HEALTHY, Level.OPEN),
        (Level.WARN, Level.REDUCED),
        (Level.WARN, Level.OPEN),
        (Level.REDUCED, Level.OPEN),
        (Level.RECOVERING, Level.OPEN),
    }
)
DOWN = frozenset(
    {
        (Level.OPEN, Level.RECOVERING),
        (Level.RECOVERING, Level.REDUCED),
        (Level.REDUCED, Level.HEALTHY),
        (Level.WARN, Level.HEALTHY),
    }
)


class RefusedMove(ValueError):
    """An edge or a command the breaker does not know; the state is unchanged, the message says why."""


AHEAD_S = 60.0
"""Replicas know the fleet's time to a second; a moment further ahead was written before its clock was set back."""


def set_back(here: Snapshot, now_s: float) -> Snapshot:
    """The document as if its last move were of now, where it lies ahead because the fleet's clock was set back; else `here`.

    Left as it is, a watermark an hour ahead would blind every rule for that hour, and a cool-down would last one longer.
    """
    ahead_s = here.since - now_s
    if ahead_s <= AHEAD_S:
        return here
    return here.changed(
        since=now_s,
        watermark=min(here.watermark, now_s),
        until=max(0.0, here.until - ahead_s) if here.until else 0.0,
        pinned_until=max(0.0, here.pinned_until - ahead_s),
        mode_until=max(now_s, here.mode_until - ahead_s) if here.mode_until else 0.0,
    )


def enter(
    here: Snapshot,
    level: Level,
    now_s: float,
    reasons: tuple[Reason, ...],
    policy: BreakerPolicy,
    *,
    numbers: tuple[tuple[str, float], ...] = (),
    jitter: float = 0.0,
    note: str = "",
) -> Snapshot:
    """Return the document one edge on, with its transition. Raises RefusedMove for an edge that does not exist."""
    if level is here.level:
        return here
    rises = (here.level, level) in UP
    if not rises and (here.level, level) not in DOWN:
        raise RefusedMove(
            f"{here.level} -> {level} is no edge of the breaker: up goes to any higher level, down one step"
        )
    opens = here.open_count
    if here.level is Level.HEALTHY:
        opens = forgiven(opens, now_s - here.since, policy)
    cause, until = here.cause, 0.0
    if level is Level.OPEN:
        opens += 1
        cause = cause if here.level is Level.RECOVERING else reasons
        until = now_s + cooldown_s(opens, hard=is_hard(cause), jitter=jitter, policy=policy)
    elif level is Level.RECOVERING:
        until = now_s + policy.probe_timeout_s
    elif level is Level.HEALTHY:
        cause = ()
    flaps = rises and _flaps(here, level, now_s, policy)
    moved = replace(
        here,
        level=level,
        since=now_s,
        # Moves down let old bad minutes fall behind the watermark, so that they cannot trip twice; moves up do not.
        watermark=here.watermark if rises else now_s,
        until=until,
        open_count=opens,
        cause=cause,
        pinned_until=now_s + policy.flap_pin_s if flaps else here.pinned_until,
        reasons=(*reasons, Reason.FLAPPING) if flaps else reasons,
        would_be=None,
    )
    return told(here, moved, to=level, at=now_s, numbers=numbers, note=note)


def told(
    here: Snapshot,
    moved: Snapshot,
    *,
    to: Level,
    at: float,
    numbers: tuple[tuple[str, float], ...] = (),
    actor: str = "breaker",
    note: str = "",
    was: Level | None = None,
    enforced: bool = True,
) -> Snapshot:
    """`moved` one epoch after `here`, with the transition that tells of it as the last of its list."""
    transition = Transition(
        model=here.model,
        epoch=here.epoch + 1,
        at=at,
        from_level=was or here.level,
        to_level=to,
        reasons=moved.reasons,
        numbers=numbers,
        actor=actor,
        note=note,
        enforced=enforced,
    )
    kept = (*here.transitions, transition)[-KEPT_TRANSITIONS:]
    return replace(moved, epoch=here.epoch + 1, transitions=kept)


def _flaps(here: Snapshot, to: Level, now_s: float, policy: BreakerPolicy) -> bool:
    """Whether this move up is one change too many: it went down and up again within the hour.

    A straight escalation is no flapping, and failed recoveries have their own, growing cool-down.
    """
    recent = [
        t
        for t in here.transitions
        if t.enforced
        and now_s - policy.flap_window_s < t.at <= now_s + AHEAD_S
        and Level.RECOVERING not in (t.from_level, t.to_level)
    ]
    fell = any((t.from_level, t.to_level) in DOWN for t in recent)
    counts = here.level is not Level.RECOVERING and now_s >= here.pinned_until
    return counts and fell and len(recent) + 1 >= policy.flap_changes

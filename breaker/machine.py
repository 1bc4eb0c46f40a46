"""Where a model's breaker stands next, given what was seen.

Decides; never reads a clock, a store or a socket.
In:  Snapshot (where it stands), Seen (counts, probes, evidence), now_s.
Out: the next Snapshot; the same object when nothing changes.
Edges, dwell, clears and modes: BREAKER.md. Silence, and evidence below the minimum, move nothing.
"""

from dataclasses import dataclass, replace

from breaker.levels import Level, Mode, Reason
from breaker.policy import BreakerPolicy
from breaker.recovery import ProbeVerdict, cooldown_s, forgiven, is_hard, judge_probes
from breaker.seen import Seen, View, look
from breaker.snapshot import KEPT_TRANSITIONS, Snapshot, Transition
from breaker.triggers import Reading, read_all
from breaker.triggers.reading import below
from breaker.window import MINUTE_S

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The highest level asked for, by which rules, on which numbers."""

    level: Level
    reasons: tuple[Reason, ...]
    numbers: tuple[tuple[str, float], ...]


def next_snapshot(here: Snapshot, seen: Seen, policy: BreakerPolicy, now_s: float, rng_jitter: float = 0.0) -> Snapshot:
    """Return where the model stands at `now_s`; `here` itself when nothing changes.

    `now_s` is server time in seconds since the epoch; `rng_jitter` in -1..1 spreads the cool-downs.
    """
    if here.mode is not Mode.AUTO and 0.0 < here.mode_until <= now_s:
        return _mode_ends(here, policy, now_s, Reason.FORCE_EXPIRED, actor="breaker", note=f"{here.mode} expired")
    if here.mode is Mode.FORCED_OPEN:
        return here
    view = look(seen, watermark=here.watermark, now_s=now_s, grace_s=policy.grace_s)
    readings = read_all(view, policy)
    asked = highest(readings)
    if here.mode is not Mode.AUTO:
        return _observed(here, asked, view, readings, policy, now_s)
    if asked is not None and asked.level.severity > here.level.severity:
        # Up: straight to the highest level asked for.
        return enter(here, asked.level, now_s, asked.reasons, policy, numbers=asked.numbers, jitter=rng_jitter)
    match here.level:
        case Level.OPEN if now_s >= here.until:
            return enter(here, Level.RECOVERING, now_s, (Reason.COOLED_DOWN,), policy)
        case Level.RECOVERING:
            return _recovering(here, seen, policy, now_s, rng_jitter)
        case Level.REDUCED | Level.WARN if now_s >= here.pinned_until and cleared(
            here.level, here.since, view, readings, policy
        ):
            return enter(
                here, Level.HEALTHY, now_s, (Reason.CLEARED,), policy, numbers=_clear_numbers(here.level, view)
            )
        case _:
            return here


def highest(readings: tuple[Reading, ...]) -> Asked | None:
    """The highest level among the rules that fired; None when none did."""
    fired = [reading for reading in readings if reading.fired]
    if not fired:
        return None
    level = max((reading.level for reading in fired), key=lambda one: one.severity)
    chosen = [reading for reading in fired if reading.level is level]
    numbers = tuple((f"{r.reason}.{name}", value) for r in chosen for name, value in r.numbers)
    return Asked(level=level, reasons=tuple(reading.reason for reading in chosen), numbers=numbers)


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
    return _told(here, moved, to=level, at=now_s, numbers=numbers, note=note)


def cleared(level: Level, since: float, view: View, readings: tuple[Reading, ...], policy: BreakerPolicy) -> bool:
    """Whether a WARN or REDUCED that began at `since` has been well for long enough.

    Evaluations are one a minute; one below the minimum sample neither counts nor breaks the row, so silence clears nothing.
    """
    if level is Level.WARN:
        minutes, line, minimum, wanted = (
            policy.warn_window_min,
            policy.warn_clear_ratio,
            policy.warn_min_judged,
            policy.warn_clear_min,
        )
    else:
        minutes, line, minimum, wanted = (
            policy.reduce_window_min,
            policy.reduce_clear_ratio,
            policy.reduce_min_judged,
            policy.reduce_clear_evaluations,
        )
        if view.now_s < since + policy.reduce_dwell_s:
            return False
    if any(reading.fired and reading.level.severity >= level.severity for reading in readings):
        return False
    return _row_below(view, since, minutes=minutes, line=line, minimum=minimum) >= wanted


def _row_below(view: View, since: float, *, minutes: int, line: float, minimum: int) -> int:
    row = 0
    if not view.by_minute:
        return row
    for minute in range(max(view.first, int(since // MINUTE_S)), view.last + 1):
        seen = view.window(minutes, ending=minute)
        if seen.n >= minimum:
            row = row + 1 if below(seen.k, line, seen.n) else 0
    return row


def clear_row(here: Snapshot, view: View, policy: BreakerPolicy) -> int:
    """How many evaluations in a row have been under the clear line of the present level; 0 where none applies."""
    if here.level is Level.WARN:
        args = (policy.warn_window_min, policy.warn_clear_ratio, policy.warn_min_judged)
    elif here.level is Level.REDUCED:
        args = (policy.reduce_window_min, policy.reduce_clear_ratio, policy.reduce_min_judged)
    else:
        return 0
    return _row_below(view, here.since, minutes=args[0], line=args[1], minimum=args[2])


def _clear_numbers(level: Level, view: View) -> tuple[tuple[str, float], ...]:
    seen = view.window(10 if level is Level.WARN else 30)
    return (("ratio", seen.ratio), ("k", seen.k), ("n", seen.n))


def _recovering(here: Snapshot, seen: Seen, policy: BreakerPolicy, now_s: float, jitter: float) -> Snapshot:
    hard = is_hard(here.cause)
    # A result carries the epoch it was admitted under; those of an older epoch are no probe results.
    results = seen.probes.results if seen.probes is not None and seen.probes.epoch == here.epoch else ()
    numbers = (("clean", float(sum(results))), ("bad", float(len(results) - sum(results))))
    match judge_probes(results, hard=hard, policy=policy):
        case ProbeVerdict.PASSED:
            return enter(here, Level.REDUCED, now_s, (Reason.PROBES_PASSED,), policy, numbers=numbers)
        case ProbeVerdict.FAILED:
            why = Reason.PROBES_FAILED
        case None if now_s >= here.until:
            why = Reason.PROBES_TIMED_OUT
        case None:
            return here
    return enter(here, Level.OPEN, now_s, (why,), policy, numbers=numbers, jitter=jitter)


def _observed(
    here: Snapshot,
    asked: Asked | None,
    view: View,
    readings: tuple[Reading, ...],
    policy: BreakerPolicy,
    now_s: float,
) -> Snapshot:
    """The level that would be in force; decided and told, never enforced. Traffic goes on, so no probes are needed."""
    virtual = here.would_be or Level.HEALTHY
    if asked is not None and asked.level.severity > virtual.severity:
        moved = replace(here, would_be=asked.level, since=now_s, reasons=asked.reasons)
        return _told(here, moved, to=asked.level, at=now_s, numbers=asked.numbers, was=virtual, enforced=False)
    if virtual is not Level.HEALTHY:
        held = Level.WARN if virtual is Level.WARN else Level.REDUCED
        if cleared(held, here.since, view, readings, policy):
            moved = replace(here, would_be=None, since=now_s, watermark=now_s, reasons=(Reason.CLEARED,))
            return _told(here, moved, to=Level.HEALTHY, at=now_s, was=virtual, enforced=False)
    return here


def _told(
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
        if t.enforced and t.at > now_s - policy.flap_window_s and Level.RECOVERING not in (t.from_level, t.to_level)
    ]
    fell = any((t.from_level, t.to_level) in DOWN for t in recent)
    counts = here.level is not Level.RECOVERING and now_s >= here.pinned_until
    return counts and fell and len(recent) + 1 >= policy.flap_changes


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
        return _mode_ends(here, policy or BreakerPolicy(), now_s, Reason.OPERATOR, actor=actor, note=reason)
    if not actor or not reason:
        raise RefusedMove("a forced mode needs an actor and a reason")
    if until <= now_s and not (mode is Mode.OBSERVE and until == 0.0):
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
    return _told(here, moved, to=level, at=now_s, actor=actor, note=f"{mode}: {reason}")


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
    return _told(here, moved, to=Level.HEALTHY, at=now_s, actor=actor, note=f"reset: {reason}")


def _mode_ends(
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
    return _told(here, moved, to=level, at=now_s, actor=actor, note=note)

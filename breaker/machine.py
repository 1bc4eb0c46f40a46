"""Where a model's breaker stands next, given what was seen.

Decides; never reads a clock, a store or a socket.
In:  Snapshot (where it stands), Seen (counts, probes, evidence), now_s.
Out: the next Snapshot; the same object when nothing changes.
Edges, dwell, clears and modes: BREAKER.md. Silence, and evidence below the minimum, move nothing.
"""

from dataclasses import dataclass, replace

from breaker.commands import force, mode_ends, reset
from breaker.edges import DOWN, UP, RefusedMove, enter, set_back, told
from breaker.levels import Level, Mode, Reason
from breaker.policy import BreakerPolicy
from breaker.recovery import ProbeVerdict, is_hard, judge_probes
from breaker.seen import Seen, View, view_of
from breaker.snapshot import Snapshot
from breaker.triggers import Reading, read_all
from breaker.triggers.reading import below
from breaker.window import MINUTE_S

__all__ = ["DOWN", "UP", "Asked", "RefusedMove", "cleared", "enter", "force", "highest", "next_snapshot", "reset"]


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
    if (back := set_back(here, now_s)) is not here:
        return back
    if here.mode is not Mode.AUTO and 0.0 < here.mode_until <= now_s:
        return mode_ends(here, policy, now_s, Reason.FORCE_EXPIRED, actor="breaker", note=f"{here.mode} expired")
    if here.mode is Mode.FORCED_OPEN:
        return here
    view = view_of(here, seen, policy, now_s)
    readings = read_all(view, policy)
    asked = highest(readings)
    if here.mode is not Mode.AUTO:
        return _observed(here, asked, view, readings, policy, now_s)
    if asked is not None and asked.level.severity > here.level.severity:
        # Up: straight to the highest level asked for.
        note = mixed(view)
        return enter(
            here, asked.level, now_s, asked.reasons, policy, numbers=asked.numbers, jitter=rng_jitter, note=note
        )
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


def mixed(view: View) -> str:
    """What a move up notes while an upgrade rolls: that its counts are those of several detectors. Else nothing."""
    return f"counted by detector versions {', '.join(view.detectors)}" if len(view.detectors) > 1 else ""


def cleared(level: Level, since: float, view: View, readings: tuple[Reading, ...], policy: BreakerPolicy) -> bool:
    """Whether a WARN or REDUCED that began at `since` has been well for long enough.

    Evaluations are one a minute; one below the minimum sample neither counts nor breaks the row, so silence clears nothing.
    """
    wanted = policy.warn_clear_min if level is Level.WARN else policy.reduce_clear_evaluations
    if level is not Level.WARN and view.now_s < since + policy.reduce_dwell_s:
        return False
    if any(reading.fired and reading.level.severity >= level.severity for reading in readings):
        return False
    return _row_below(level, since, view, policy) >= wanted


def _row_below(level: Level, since: float, view: View, policy: BreakerPolicy) -> int:
    minutes, minimum = (
        (policy.warn_window_min, policy.warn_min_judged)
        if level is Level.WARN
        else (policy.reduce_window_min, policy.reduce_min_judged)
    )
    row = 0
    if not view.by_minute:
        return row
    for minute in range(max(view.first, int(since // MINUTE_S)), view.last + 1):
        if view.window(minutes, ending=minute).n >= minimum:
            row = row + 1 if _well(level, view, minutes, minute, policy) else 0
    return row


def _well(level: Level, view: View, minutes: int, minute: int, policy: BreakerPolicy) -> bool:
    """Whether repeats and soft failures both lie under the clear lines of `level` in the window that ends at `minute`."""
    warns = level is Level.WARN
    seen, soft = view.window(minutes, ending=minute), view.soft_window(minutes, ending=minute)
    if not below(seen.k, policy.warn_clear_ratio if warns else policy.reduce_clear_ratio, seen.n):
        return False
    if not below(soft.k, policy.soft_warn_clear_ratio if warns else policy.soft_reduce_clear_ratio, soft.n):
        return False
    formed = view.formed_window(minutes, ending=minute)
    # Too few JSON replies to judge do not hold a warning that moves no traffic.
    few = formed.n < policy.warn_min_judged
    return not warns or few or below(formed.k, policy.json_warn_clear_ratio, formed.n)


def clear_row(here: Snapshot, view: View, policy: BreakerPolicy) -> int:
    """How many evaluations in a row have been under the clear lines of the present level; 0 where none applies."""
    return _row_below(here.level, here.since, view, policy) if here.level in (Level.WARN, Level.REDUCED) else 0


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
        numbers, note = asked.numbers, mixed(view)
        return told(here, moved, to=asked.level, at=now_s, numbers=numbers, note=note, was=virtual, enforced=False)
    if virtual is not Level.HEALTHY:
        held = Level.WARN if virtual is Level.WARN else Level.REDUCED
        if cleared(held, here.since, view, readings, policy):
            moved = replace(here, would_be=None, since=now_s, watermark=now_s, reasons=(Reason.CLEARED,))
            return told(here, moved, to=Level.HEALTHY, at=now_s, was=virtual, enforced=False)
    return here

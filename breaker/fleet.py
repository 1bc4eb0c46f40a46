"""What no single model can tell: is it the detector that went wrong, and are too many models open?

In:  all snapshots and one proposed move.  Out: the move that is allowed, or None.  Source: BREAKER.md, Opening safely.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from breaker.levels import Level, Mode, Reason
from breaker.policy import BreakerPolicy
from breaker.snapshot import Snapshot

log = logging.getLogger(__name__)

BY_RATIO = frozenset(
    {Reason.RATIO_10M, Reason.RATIO_30M, Reason.ROLLING_15M, Reason.LOW_TRAFFIC_30, Reason.TREND, Reason.BURST}
)


def by_ratio_only(move: Snapshot) -> bool:
    """Whether repeats alone asked for it; stuck streams, hard failures and forced moves are never held."""
    return set(move.reasons) - {Reason.FLAPPING} <= BY_RATIO


def detector_suspect(newly: Mapping[str, float], models: int, now_s: float, policy: BreakerPolicy) -> bool:
    """Whether all of >= 3 models (two thirds of >= 5) newly breached by ratio within 5 minutes.

    `newly`: model -> moment of its first breach of this episode.
    """
    recent = sum(1 for at in newly.values() if at > now_s - policy.suspect_window_s)
    if models >= policy.suspect_large_fleet:
        return 3 * recent >= 2 * models
    return models >= policy.suspect_models and recent == models


def over_open_cap(states: Mapping[str, Snapshot], move: Snapshot, policy: BreakerPolicy) -> bool:
    """Whether `move` would open more models than the cap allows, counted after the change. Forced ones count too."""
    if policy.max_open_ratio is None or move.level is not Level.OPEN or move.mode is not Mode.AUTO:
        return False
    was = states.get(move.model)
    if was is not None and was.level is Level.RECOVERING:
        return False  # it takes no traffic already
    shut = {m for m, s in states.items() if s.effective in (Level.OPEN, Level.RECOVERING)} | {move.model}
    return len(shut) > policy.max_open_ratio * max(1, len(states.keys() | {move.model})) + 1e-9


def last_of_a_route(states: Mapping[str, Snapshot], move: Snapshot, routes: Sequence[Sequence[str]]) -> bool:
    """Whether `move` would shut the last model of one of `routes` (those that say `last_model: keep_reduced`).

    A failed recovery shuts nobody out: its model takes no traffic already, and another is the last one.
    """
    was = states.get(move.model)
    if (
        move.level is not Level.OPEN
        or move.mode is not Mode.AUTO
        or (was is not None and was.level is Level.RECOVERING)
    ):
        return False
    shut = {m for m, s in states.items() if s.effective in (Level.OPEN, Level.RECOVERING)} | {move.model}
    return any(move.model in route and set(route) <= shut for route in routes)


def lowered(here: Snapshot, move: Snapshot, why: Reason) -> Snapshot | None:
    """`move` to OPEN taken back to REDUCED, so that the model stays in service; None when it is there already."""
    if here.level is Level.REDUCED:
        return None
    reasons = (*move.reasons, why)
    told = replace(move.transitions[-1], to_level=Level.REDUCED, reasons=reasons)
    return replace(
        move,
        level=Level.REDUCED,
        until=0.0,
        open_count=here.open_count,
        cause=here.cause,
        reasons=reasons,
        transitions=(*move.transitions[:-1], told),
    )


class FleetRules:
    """Remembers which models breached when, so that a sudden breach of all is first taken for the detector's."""

    def __init__(self, models: Sequence[str], policy: BreakerPolicy, keep_last: Sequence[Sequence[str]]) -> None:
        self._models, self._policy = tuple(models), policy
        self._keep_last = tuple(tuple(route) for route in keep_last)
        self._newly: dict[str, float] = {}
        self._held_until = 0.0
        self._capped: set[str] = set()
        self.suspect = False
        self.cap_hits = 0

    def note_breach(self, here: Snapshot, moved: Snapshot, now_s: float) -> None:
        """Remember that a healthy model asks to go up by ratio. Once for all models before any is allowed."""
        if moved.mode is Mode.AUTO and here.level is Level.HEALTHY and by_ratio_only(moved):
            episode_s = self._policy.suspect_window_s + self._policy.suspect_hold_s
            if now_s - self._newly.get(here.model, float("-inf")) > episode_s:
                self._newly[here.model] = now_s

    def allowed(self, states: Mapping[str, Snapshot], here: Snapshot, moved: Snapshot, now_s: float) -> Snapshot | None:
        """The move as the fleet permits it; None: not now."""
        if moved.mode is not Mode.AUTO or moved.level.severity <= here.level.severity:
            return moved
        if over_open_cap(states, moved, self._policy):
            self.cap_hits += here.model not in self._capped
            self._capped.add(here.model)
            return lowered(here, moved, Reason.TOO_MANY_OPEN)
        self._capped.discard(here.model)
        if last_of_a_route(states, moved, self._keep_last):
            return lowered(here, moved, Reason.LAST_MODEL)
        return None if by_ratio_only(moved) and self._holds(now_s) else moved

    def _holds(self, now_s: float) -> bool:
        policy = self._policy
        if now_s < self._held_until:
            return True
        # A hold that just ended does not begin again by the same breach: the levels apply.
        fresh = now_s - self._held_until > policy.suspect_window_s
        self.suspect = fresh and detector_suspect(self._newly, len(self._models), now_s, policy)
        if self.suspect:
            self._held_until = now_s + policy.suspect_hold_s
            log.warning("detector suspect: %d models breached at once; moves by ratio held", len(self._newly))
        return self.suspect

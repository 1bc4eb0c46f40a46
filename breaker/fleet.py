"""What no single model can tell: is it the detector that went wrong, and are too many models open?

In:  all snapshots, the moves proposed in one evaluation, the hold in force.  Out: the moves that are allowed.
Nothing is remembered here: who breached when stands in the documents, and a hold is an evidence record of the fleet,
so an evaluator that takes over decides as the one before it would have.  Source: BREAKER.md, Opening safely.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from breaker.evidence import Evidence, EvidenceKind
from breaker.levels import Level, Mode, Reason
from breaker.policy import BreakerPolicy
from breaker.snapshot import Snapshot

FLEET = "*"
"""The `model` of evidence that is about all models together."""
CAP_KNOWN_S = 86_400.0
"""How long a model kept in service by the cap is not counted anew."""
BY_RATIO = frozenset(
    {
        Reason.RATIO_10M,
        Reason.RATIO_30M,
        Reason.ROLLING_15M,
        Reason.LOW_TRAFFIC_30,
        Reason.SOFT_FAILURES,
        Reason.UNREADABLE_JSON,
        Reason.TREND,
        Reason.BURST,
    }
)
Move = tuple[Snapshot, Snapshot]
"""Where a model stands, and where it asks to go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Moves by ratio wait from `began_at` until `until`, because `models` breached at once."""

    began_at: float
    until: float
    models: int


def by_ratio_only(reasons: Iterable[Reason]) -> bool:
    """Whether the judgement of replies alone asked for it; stuck streams, hard failures and forced moves are never held."""
    return set(reasons) - {Reason.FLAPPING} <= BY_RATIO


def newly_breached(states: Mapping[str, Snapshot], proposed: Sequence[Move], now_s: float, window_s: float) -> set[str]:
    """Models that left HEALTHY by ratio within the last `window_s` seconds, or ask to now."""
    asking = {
        here.model
        for here, moved in proposed
        if moved.mode is Mode.AUTO and here.level is Level.HEALTHY is not moved.level and by_ratio_only(moved.reasons)
    }
    left = {
        told.model
        for snapshot in states.values()
        for told in snapshot.transitions
        if told.at > now_s - window_s
        and told.enforced
        and told.from_level is Level.HEALTHY
        and told.to_level is not Level.HEALTHY
        and told.reasons
        and by_ratio_only(told.reasons)
    }
    return asking | left


def detector_suspect(breached: int, models: int, policy: BreakerPolicy) -> bool:
    """Whether so many of `models` newly breached that the detector is the likelier cause: all of >= 3, 2/3 of >= 5."""
    if models >= policy.suspect_large_fleet:
        return 3 * breached >= 2 * models
    return models >= policy.suspect_models and breached == models


def begun_hold(
    states: Mapping[str, Snapshot], proposed: Sequence[Move], last: Hold | None, policy: BreakerPolicy, now_s: float
) -> Hold | None:
    """The hold that begins now, if one does. One that just ended does not begin again by the same breach."""
    if last is not None and now_s < last.until + policy.suspect_window_s:
        return None
    breached = newly_breached(states, proposed, now_s, policy.suspect_window_s)
    if not proposed or not detector_suspect(len(breached), len(states), policy):
        return None
    return Hold(began_at=now_s, until=now_s + policy.suspect_hold_s, models=len(breached))


def as_evidence(hold: Hold, policy: BreakerPolicy) -> Evidence:
    """The record by which the fleet knows of a hold: kept until another may begin."""
    return Evidence(
        id=f"suspect:{hold.began_at:.0f}",
        kind=EvidenceKind.DETECTOR_SUSPECT,
        model=FLEET,
        found_at=hold.began_at,
        valid_until=hold.until + policy.suspect_window_s,
        numbers=(("until", hold.until), ("models", float(hold.models))),
    )


def hold_in(found: Iterable[Evidence]) -> Hold | None:
    """The latest hold among the fleet's evidence."""
    kept = [e for e in found if e.kind is EvidenceKind.DETECTOR_SUSPECT]
    last = max(kept, key=lambda e: e.number("until"), default=None)
    if last is None:
        return None
    return Hold(began_at=last.found_at, until=last.number("until"), models=int(last.number("models")))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The move as the fleet permits it (None: not now), and whether the cap on open models stood in its way."""

    move: Snapshot | None
    capped: bool = False


def allowed(
    states: Mapping[str, Snapshot],
    here: Snapshot,
    moved: Snapshot,
    hold: Hold | None,
    keep_last: Sequence[Sequence[str]],
    policy: BreakerPolicy,
    now_s: float,
) -> Allowed:
    """What becomes of one proposed move. `keep_last`: the models of each route that says `last_model: keep_reduced`."""
    if moved.mode is not Mode.AUTO or moved.level.severity <= here.level.severity:
        return Allowed(move=moved)
    if hold is not None and now_s < hold.until and by_ratio_only(moved.reasons):
        return Allowed(move=None)
    if over_open_cap(states, moved, policy):
        return Allowed(move=lowered(here, moved, Reason.TOO_MANY_OPEN), capped=True)
    if last_of_a_route(states, moved, keep_last):
        return Allowed(move=lowered(here, moved, Reason.LAST_MODEL))
    return Allowed(move=moved)


def cap_evidence(here: Snapshot, now_s: float) -> Evidence:
    """The record that counts a model kept in service by the cap: once until it has come down (which moves its watermark)."""
    return Evidence(
        id=f"cap:{here.watermark:.0f}",
        kind=EvidenceKind.OPEN_CAP,
        model=here.model,
        found_at=now_s,
        valid_until=now_s + CAP_KNOWN_S,
    )

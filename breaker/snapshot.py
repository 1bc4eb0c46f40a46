"""Where one model stands: the state document that all replicas share, and the transitions it went through.

Every change is a compare-and-set on `epoch`; moments are seconds since the epoch on the fleet's server time.
"""

from dataclasses import dataclass, replace

from breaker.levels import Level, Mode, Reason

SCHEMA = 1
KEPT_TRANSITIONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One move of one model. `numbers` are the figures it was decided on, by name (ratios 0..1)."""

    model: str
    epoch: int
    at: float
    from_level: Level
    to_level: Level
    reasons: tuple[Reason, ...]
    numbers: tuple[tuple[str, float], ...] = ()
    actor: str = "breaker"
    note: str = ""
    enforced: bool = True
    """False: decided in a mode that enforces nothing; told, not obeyed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The document of one model. `until` is when OPEN cools down or RECOVERING times out; 0.0 where it has no meaning."""

    model: str
    schema: int = SCHEMA
    epoch: int = 0
    level: Level = Level.HEALTHY
    mode: Mode = Mode.AUTO
    since: float = 0.0
    watermark: float = 0.0
    reasons: tuple[Reason, ...] = ()
    until: float = 0.0
    open_count: int = 0
    cause: tuple[Reason, ...] = ()
    """Why the model was opened; kept through failed recoveries, because it decides how it is probed."""
    pinned_until: float = 0.0
    mode_actor: str = ""
    mode_reason: str = ""
    mode_until: float = 0.0
    would_be: Level | None = None
    """In a mode that enforces nothing: the level that would be in force."""
    transitions: tuple[Transition, ...] = ()
    fence: int = 0

    @property
    def effective(self) -> Level:
        """The level that routing obeys."""
        match self.mode:
            case Mode.FORCED_OPEN:
                return Level.OPEN
            case Mode.FORCED_NORMAL | Mode.OBSERVE:
                return Level.HEALTHY
            case _:
                return self.level

    @property
    def shed_at(self) -> float:
        """When it last gave up load that others must take; 0.0: not within the moves kept.

        From REDUCED it gives up the last tenth, which is no load to be eased: others carry the rest of it already.
        """
        served, given_up = (Level.HEALTHY, Level.WARN), (Level.REDUCED, Level.OPEN)
        for move in reversed(self.transitions):
            if move.enforced and move.from_level in served and move.to_level in given_up:
                return move.at
        return 0.0

    def changed(self, **fields: object) -> "Snapshot":
        """The next document: the given fields, one epoch on."""
        return replace(self, epoch=self.epoch + 1, **fields)  # type: ignore[arg-type]

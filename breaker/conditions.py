"""What must be told to people beside the moves themselves: conditions that hold from one moment to another.

In:  where all models stand, the routes, the fleet's hold, since when the store is silent.  Out: what holds now.
Pure and without memory: every replica reads the same, whoever tells compares with what held before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from breaker.fleet import FLEET, Hold
from breaker.levels import Level
from breaker.share import RouteCandidate, phrase_only
from breaker.snapshot import Snapshot

STORE_DOWN_AFTER_S = 10.0
"""A store that answers again within seconds (a failover, a blip) is nothing to wake anybody for."""
STORE = "redis"


class ConditionKind(StrEnum):
    DETECTOR_SUSPECT = "detector_suspect"  # subject: "*"; numbers: models, until
    FLAPPING = "flapping"  # subject: the model; numbers: until
    PHRASE_ONLY = "phrase_only"  # subject: the route
    STORE_DOWN = "store_down"  # subject: "redis"
    FORBIDDEN = "forbidden"  # subject: model and endpoint; numbers: status, since, others (who do not refuse us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """`kind` and `subject` are its identity; `numbers` hold moments (server time) and counts."""

    kind: ConditionKind
    subject: str
    numbers: tuple[tuple[str, float], ...] = ()

    @property
    def key(self) -> tuple[ConditionKind, str]:
        return self.kind, self.subject


def conditions(
    snapshots: Mapping[str, Snapshot],
    levels: Mapping[str, Level],
    routes: Mapping[str, Sequence[RouteCandidate]],
    hold: Hold | None,
    silent_since: float | None,
    now_s: float,
) -> tuple[Condition, ...]:
    """What holds at `now_s`; `silent_since`: when the store last stopped answering, None while it does."""
    out = []
    if hold is not None and hold.began_at <= now_s < hold.until:
        numbers = (("models", float(hold.models)), ("until", hold.until))
        out.append(Condition(kind=ConditionKind.DETECTOR_SUSPECT, subject=FLEET, numbers=numbers))
    out += [
        Condition(kind=ConditionKind.FLAPPING, subject=model, numbers=(("until", here.pinned_until),))
        for model, here in snapshots.items()
        if now_s < here.pinned_until
    ]
    out += [
        Condition(kind=ConditionKind.PHRASE_ONLY, subject=route, numbers=(("models", float(len(candidates))),))
        for route, candidates in routes.items()
        if phrase_only(candidates, levels)
    ]
    if silent_since is not None and now_s - silent_since >= STORE_DOWN_AFTER_S:
        out.append(Condition(kind=ConditionKind.STORE_DOWN, subject=STORE, numbers=(("since", silent_since),)))
    return tuple(out)

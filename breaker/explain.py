"""Why a model stands where it stands, and what would have to happen for it to move.

Decides; pure.  In: where it stands and what was seen.  Out: figures; who shows them puts them into words, in the reader's
language (console/why.py, for pages, admin JSON and command line alike).
"""

from dataclasses import dataclass

from breaker.evidence import Evidence, EvidenceKind
from breaker.levels import Level, Reason
from breaker.machine import clear_row
from breaker.policy import BreakerPolicy
from breaker.seen import Seen, view_of
from breaker.snapshot import Snapshot
from breaker.triggers import Reading, read_all

RATIO_RULES = frozenset(
    {
        Reason.RATIO_10M,
        Reason.RATIO_30M,
        Reason.ROLLING_15M,
        Reason.LOW_TRAFFIC_30,
        Reason.SOFT_FAILURES,
        Reason.UNREADABLE_JSON,
        Reason.HARD_FAILURES,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What every rule reads at `at`, by the numbers of `policy`.

    `unknown`: no ratio rule has its minimum sample. `probes_wanted`: synthetic probes would make it known.
    `abnormal`: findings that flag the model until they expire, without moving a level (hourly watch, complaints).
    `clear_row`: evaluations in a row that were good enough to come down. `probes`: results under this epoch, oldest first.
    `detectors`: versions of the detector that judged the last 30 minutes; two while an upgrade rolls.
    """

    snapshot: Snapshot
    policy: BreakerPolicy
    at: float
    rules: tuple[Reading, ...]
    unknown: bool
    probes_wanted: bool
    abnormal: tuple[Evidence, ...] = ()
    clear_row: int = 0
    probes: tuple[bool, ...] = ()
    detectors: tuple[str, ...] = ()


def explain(here: Snapshot, seen: Seen, policy: BreakerPolicy, now_s: float) -> Explanation:
    """Read every rule and say what the next change waits for. Nothing moves."""
    view = view_of(here, seen, policy, now_s)
    readings = read_all(view, policy)
    ratios = [reading for reading in readings if reading.reason in RATIO_RULES - {Reason.HARD_FAILURES}]
    unknown = not any(reading.known for reading in ratios)
    # One bad reply a day is no illness: a healthy model is asked only where a level may be near.
    repeats = max((dict(reading.numbers).get("k", 0.0) for reading in ratios), default=0.0)
    ill = here.level in (Level.WARN, Level.REDUCED) or repeats >= policy.warn_min_repeats
    return Explanation(
        snapshot=here,
        policy=policy,
        at=now_s,
        rules=readings,
        clear_row=clear_row(here, view, policy),
        probes=seen.probes.results if seen.probes is not None and seen.probes.epoch == here.epoch else (),
        unknown=unknown,
        abnormal=tuple(e for e in view.evidence if e.kind in (EvidenceKind.HOURLY, EvidenceKind.COMPLAINTS)),
        probes_wanted=here.level is Level.RECOVERING or (unknown and ill),
        detectors=view.detectors,
    )

"""Levels asked for by evidence records: nightly runs, scenes, complaints, a replica's streak of hard failures.

The records carry numbers; whether they suffice is decided here, so that a changed policy applies to all alike.
"""

from collections.abc import Iterable

from breaker.evidence import Evidence, EvidenceKind
from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.reading import EXACT, Reading


def _of(view: View, kind: EvidenceKind) -> list[Evidence]:
    return [evidence for evidence in view.evidence if evidence.kind is kind]


def _worst(found: Iterable[Evidence], by: str) -> Evidence | None:
    return max(found, key=lambda evidence: evidence.number(by), default=None)


def nightly(view: View, policy: BreakerPolicy) -> Reading:
    """L1 at +30 % and +1 point (p < .05); L3 at twice the baseline and +3 points (p < .01), after a re-run."""
    worst = _worst(_of(view, EvidenceKind.NIGHTLY), "rate")
    if worst is None:
        return Reading(reason=Reason.NIGHTLY, level=Level.WARN, line=policy.nightly_warn_growth)
    rate, baseline, chance = worst.number("rate"), worst.number("baseline"), worst.number("chance")

    def over(growth: float, points: float, line: float) -> bool:
        return rate >= growth * baseline - EXACT and rate - baseline >= points - EXACT and chance < line

    opens = worst.number("confirmed") > 0 and over(
        policy.nightly_open_growth, policy.nightly_open_points, policy.nightly_open_chance
    )
    warns = over(policy.nightly_warn_growth, policy.nightly_warn_points, policy.nightly_warn_chance)
    return Reading(
        reason=Reason.NIGHTLY,
        level=Level.OPEN if opens else Level.WARN,
        value=rate / baseline if baseline else 0.0,
        line=policy.nightly_open_growth if opens else policy.nightly_warn_growth,
        known=True,
        fired=opens or warns,
        numbers=worst.numbers,
    )


def scenes(view: View, policy: BreakerPolicy) -> Reading:
    """L1 when two scenes breach, or one that carries half of the model's traffic."""
    by_scene = {
        evidence.scene: evidence
        for evidence in _of(view, EvidenceKind.SCENE)
        if evidence.number("repeats") >= policy.period_min_repeats
        and evidence.number("growth") >= policy.scene_growth - EXACT
        and evidence.number("chance") < policy.period_chance
    }
    main = _worst(by_scene.values(), "traffic")
    carried = main.number("traffic") if main else 0.0
    return Reading(
        reason=Reason.SCENE,
        level=Level.WARN,
        value=len(by_scene),
        line=policy.scene_count,
        n=len(by_scene),
        known=bool(by_scene),
        fired=len(by_scene) >= policy.scene_count or carried >= policy.scene_traffic_ratio,
        numbers=main.numbers if main else (),
    )


def complaints(view: View, policy: BreakerPolicy) -> Reading:
    """L3 when enough distinct users complain and chance does not explain it; complaints never clear a level."""
    worst = _worst(_of(view, EvidenceKind.COMPLAINTS), "users")
    users = worst.number("users") if worst else 0.0
    return Reading(
        reason=Reason.COMPLAINTS,
        level=Level.OPEN,
        value=users,
        line=policy.complaint_users,
        n=int(users),
        minimum=policy.complaint_users,
        known=users >= policy.complaint_users,
        fired=worst is not None
        and users >= policy.complaint_users
        and worst.number("chance") < policy.complaint_chance,
        numbers=worst.numbers if worst else (),
    )


def hard_in_a_row(view: View, policy: BreakerPolicy) -> Reading:
    """L3 proposed by one replica: 5 hard failures in a row and no success for 10 s."""
    worst = _worst(_of(view, EvidenceKind.HARD_IN_A_ROW), "failures")
    failures = worst.number("failures") if worst else 0.0
    quiet_s = worst.number("quiet_s") if worst else 0.0
    return Reading(
        reason=Reason.HARD_IN_A_ROW,
        level=Level.OPEN,
        value=failures,
        line=policy.hard_in_a_row,
        n=int(failures),
        minimum=policy.hard_in_a_row,
        known=worst is not None,
        fired=failures >= policy.hard_in_a_row and quiet_s >= policy.hard_quiet_s - EXACT,
        numbers=worst.numbers if worst else (),
    )

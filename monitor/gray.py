"""Where a gray release stands next, given what its two arms have shown.

Decides; never reads a clock, a store or a socket.
In:  the document, minutes of both arms, where both models stand, the time.  Out: the next document, the same object
when nothing changes.  Source of rules and numbers: BREAKER.md, Gray release.
No data is neither good nor bad; what a person stopped has not passed; a paused release keeps its split.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from breaker.gray import (
    KEPT_EVENTS,
    KEPT_REJECTIONS,
    Arm,
    GrayEvent,
    GrayReason,
    GrayRelease,
    GrayStage,
    Rejection,
)
from breaker.levels import Level
from breaker.window import Counts
from monitor.gray_stats import START, e_value, good_enough, weighed

SICK = frozenset({Level.REDUCED, Level.OPEN, Level.RECOVERING})
SHUT = frozenset({Level.OPEN, Level.RECOVERING})
SELF_MENDING = frozenset({GrayReason.NO_DATA, GrayReason.STABLE_SICK, GrayReason.SOURCE_FAILS})
"""Pauses that end by themselves when their cause does; one that a person made does not."""
Share = Annotated[float, Field(gt=0, le=1)]
Seconds = Annotated[float, Field(gt=0, le=30 * 86_400)]


class GrayPolicy(BaseModel):
    """Steps, their least sample and time, and when a release is stopped."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: Annotated[tuple[Share, ...], Field(min_length=1, max_length=10)] = (0.05, 0.25, 0.5, 1.0)
    step_min_judged: Annotated[int, Field(ge=10, le=1_000_000)] = 200  # gray replies a step must see
    step_min_s: Seconds = 1_800.0  # and how long it lasts at least
    stop_at: Annotated[float, Field(ge=10, le=1e6)] = 100.0  # e-value: at most 1 in 100 good versions is ever stopped
    enough_judged: Annotated[int, Field(ge=100, le=1_000_000)] = 900  # so many without a stop are good enough
    rate_floor: Annotated[float, Field(gt=0, lt=0.5)] = 0.005  # twice nothing is nothing
    false_reject: Annotated[float, Field(gt=0, lt=0.5)] = 0.01
    false_accept: Annotated[float, Field(gt=0, lt=0.5)] = 0.10
    stuck_streams: Annotated[int, Field(ge=1, le=1_000)] = 5  # within two minutes: stopped at once
    stuck_sessions: Annotated[int, Field(ge=1, le=64)] = 3
    no_data_s: Seconds = 600.0  # without a gray reply for so long: paused
    tell_after_s: Seconds = 7_200.0  # paused without data for so long: somebody is told
    deadline_s: Seconds = 259_200.0  # a step not passed by then is rolled back
    retry_after_s: Seconds = 86_400.0  # a version that was rolled back waits
    source_failures: Annotated[int, Field(ge=1, le=100)] = 5  # readings of the counts that fail in a row: paused

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if list(self.steps) != sorted(set(self.steps)):
            raise ValueError("gray.steps must rise")
        if self.steps[-1] < 1.0:
            raise ValueError("gray.steps must end with 1.0: what is never given all sessions was never released")
        return self


class RefusedGray(Exception):
    """A command that makes no sense where the release stands; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What stands beside the arms: where both models stand, streams of the candidate stuck within two minutes."""

    stable: Level = Level.HEALTHY
    candidate: Level = Level.HEALTHY
    stuck: int = 0
    stuck_sessions: int = 0
    source_failures: int = 0
    """Readings of the counts that failed in a row; with any, the arms are as they were."""


def arm_of(counts: Counts) -> Arm:
    """One minute of one arm."""
    return Arm(
        judged=counts.judged,
        repeats=counts.repeats,
        # What was judged or failed hard; abandoned calls and refused quotas say nothing of a version.
        attempts=counts.judged + counts.hard,
        hard=counts.hard,
    )


def absorbed(
    here: GrayRelease, gray: Mapping[int, Counts], stable: Mapping[int, Counts], upto: int, now_s: float
) -> GrayRelease:
    """The document with the minutes from `counted_to` to `upto` (not included) in its arms; no epoch of its own.

    Each minute is weighed by itself: the shares of the arms change from step to step, and traffic by the hour.
    """
    if upto <= here.counted_to:
        return here
    minutes = [minute for minute in sorted(gray.keys() | stable.keys()) if here.counted_to <= minute < upto]
    if here.stage not in (GrayStage.RUNNING, GrayStage.WAITING) and here.reason is not GrayReason.NO_DATA:
        minutes = []  # paused: what comes meanwhile is compared with nothing
    for minute in minutes:
        g, s = arm_of(gray.get(minute, Counts())), arm_of(stable.get(minute, Counts()))
        here = replace(
            here,
            gray=here.gray + g,
            stable=here.stable + s,
            step_judged=here.step_judged + g.judged,
            repeat_logs=weighed(here.repeat_logs or START, g.judged, g.repeats, s.judged, s.repeats),
            hard_logs=weighed(here.hard_logs or START, g.attempts, g.hard, s.attempts, s.hard),
            data_at=max(here.data_at, min(now_s, (minute + 1) * 60.0)) if g.judged else here.data_at,
        )
    return replace(here, counted_to=upto)


def next_release(here: GrayRelease, around: Around, policy: GrayPolicy, now_s: float) -> GrayRelease:
    """Return where the release stands at `now_s`; `here` itself when nothing changes."""
    if not here.stage.active:
        return here
    if (worse := _worse(here, around, policy)) is not None:
        return rolled_back(here, worse, policy, now_s)
    if here.stage is GrayStage.PAUSED:
        return _paused(here, around, policy, now_s)
    if (why := _cannot_judge(here, around, policy, now_s)) is not None:
        return moved(here, GrayStage.PAUSED, why, now_s)
    if here.stage is GrayStage.WAITING:
        return here
    if not _step_passed(here, policy, now_s):
        late = now_s - here.step_at - here.step_quiet_s >= policy.deadline_s
        return rolled_back(here, GrayReason.STARVED, policy, now_s) if late else here
    if here.step + 1 >= len(policy.steps):
        return moved(here, GrayStage.PROMOTED, GrayReason.ALL_PASSED, now_s)
    if not here.by_itself:
        return moved(here, GrayStage.WAITING, GrayReason.STEP_PASSED, now_s)
    return stepped(here, policy, now_s)


def _worse(here: GrayRelease, around: Around, policy: GrayPolicy) -> GrayReason | None:
    """Why the new version must go at once; also while the analysis is paused, for a pause keeps the split."""
    if around.candidate in SHUT:
        return GrayReason.OPENED
    if around.stuck >= policy.stuck_streams and around.stuck_sessions >= policy.stuck_sessions:
        return GrayReason.STUCK_STREAMS
    if e_value(here.repeat_logs or START) >= policy.stop_at:
        return GrayReason.WORSE_REPEATS
    if e_value(here.hard_logs or START) >= policy.stop_at:
        return GrayReason.WORSE_HARD
    return None


def _cannot_judge(here: GrayRelease, around: Around, policy: GrayPolicy, now_s: float) -> GrayReason | None:
    if around.source_failures >= policy.source_failures:
        return GrayReason.SOURCE_FAILS
    if around.stable in SICK and here.share < 1.0:
        return GrayReason.STABLE_SICK  # at the last step nobody is compared with it any more
    if not around.source_failures and now_s - max(here.data_at, here.step_at) >= policy.no_data_s:
        return GrayReason.NO_DATA
    return None


def _paused(here: GrayRelease, around: Around, policy: GrayPolicy, now_s: float) -> GrayRelease:
    if here.reason is GrayReason.NO_DATA and now_s - here.step_at - here.step_quiet_s >= policy.deadline_s:
        return rolled_back(here, GrayReason.STARVED, policy, now_s)
    if here.reason not in SELF_MENDING:
        return here
    why = _cannot_judge(here, around, policy, now_s)
    if here.reason is not GrayReason.NO_DATA and why is GrayReason.NO_DATA:
        # Nothing was counted while it was paused: that the data is old says nothing yet.
        why = None
    if here.reason is GrayReason.SOURCE_FAILS and around.source_failures:
        why = GrayReason.SOURCE_FAILS
    if why is here.reason:
        return here
    if why is not None:
        return moved(here, GrayStage.PAUSED, why, now_s)
    # Time without data counts towards the deadline; time in which nothing could be compared does not.
    quiet_s = here.step_quiet_s + (0.0 if here.reason is GrayReason.NO_DATA else now_s - here.since)
    return moved(
        here, GrayStage.RUNNING, GrayReason.RESUMED, now_s, step_quiet_s=quiet_s, data_at=max(here.data_at, now_s)
    )


def _step_passed(here: GrayRelease, policy: GrayPolicy, now_s: float) -> bool:
    if here.step_judged < policy.step_min_judged or now_s - here.step_at - here.step_quiet_s < policy.step_min_s:
        return False
    if here.gray.judged >= policy.enough_judged:
        return True
    bounds = {"floor": policy.rate_floor, "alpha": policy.false_reject, "beta": policy.false_accept}
    g, s = here.gray, here.stable
    return good_enough(g.judged, g.repeats, s.judged, s.repeats, **bounds) and good_enough(
        g.attempts, g.hard, s.attempts, s.hard, **bounds
    )


def stepped(here: GrayRelease, policy: GrayPolicy, now_s: float, actor: str = "monitor", note: str = "") -> GrayRelease:
    """One step on."""
    step = here.step + 1
    return moved(
        here,
        GrayStage.RUNNING,
        GrayReason.STEP_PASSED if actor == "monitor" else GrayReason.OPERATOR,
        now_s,
        actor=actor,
        note=note,
        step=step,
        share=policy.steps[step],
        step_at=now_s,
        step_quiet_s=0.0,
        step_judged=0,
        data_at=now_s,
    )


def rolled_back(here: GrayRelease, why: GrayReason, policy: GrayPolicy, now_s: float) -> GrayRelease:
    """Everybody back to the stable version; the counts stay as evidence, the version waits."""
    kept = [it for it in here.rejected if it.until > now_s]
    mine = Rejection(candidate=here.candidate, version=here.version, until=now_s + policy.retry_after_s)
    rejected = (*kept, mine)[-KEPT_REJECTIONS:]
    return moved(here, GrayStage.ROLLED_BACK, why, now_s, rejected=rejected)


def moved(
    here: GrayRelease, stage: GrayStage, why: GrayReason, now_s: float, *, actor: str = "monitor", note: str = "",
    **fields: object,
) -> GrayRelease:  # fmt: skip
    """The next document, with the move among its events."""
    ends = {} if stage.active else {"ended_at": now_s}
    if stage is GrayStage.PROMOTED:
        ends["share"] = 1.0
    fields = {**ends, **fields}
    share = float(str(fields.get("share", here.share)))
    out = stage in (GrayStage.ROLLED_BACK, GrayStage.STOPPED)
    event = GrayEvent(
        at=now_s, stage=stage, reason=why, share=0.0 if out else share, actor=actor, note=note, numbers=numbers_of(here)
    )
    events: Sequence[GrayEvent] = (*here.events, event)[-KEPT_EVENTS:]
    return here.changed(stage=stage, reason=why, since=now_s, events=tuple(events), **fields)


def numbers_of(here: GrayRelease) -> dict[str, float]:
    """The figures a release is judged by, for events, alerts and the report."""
    return {
        "gray_judged": float(here.gray.judged),
        "gray_repeats": float(here.gray.repeats),
        "gray_ratio": here.gray.repeat_ratio,
        "gray_hard_ratio": here.gray.hard_ratio,
        "stable_judged": float(here.stable.judged),
        "stable_repeats": float(here.stable.repeats),
        "stable_ratio": here.stable.repeat_ratio,
        "stable_hard_ratio": here.stable.hard_ratio,
        "e_repeats": e_value(here.repeat_logs or START),
        "e_hard": e_value(here.hard_logs or START),
        "step_judged": float(here.step_judged),
    }

"""Why an incident is not told now: a person silenced it, a maintenance window covers it, a graver one says it all, or
nobody would bet on it yet.

Decides over records; never reads a clock or a store. What is muted stays open: it is told when the reason ends.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from zoneinfo import ZoneInfo

from breaker.levels import Level, Reason
from monitor.alerts.alert import AlertKind, Severity
from monitor.alerts.incident import RANKS, Incident

HARD_REASONS = frozenset(
    {Reason.HARD_FAILURES.value, Reason.HARD_IN_A_ROW.value, Reason.STUCK_STREAMS.value, Reason.OPERATOR.value}
)
"""Moves that no mistake of the detector can cause (BREAKER.md, Opening safely: they pass the hold too)."""

RISES = frozenset({AlertKind.HOURLY, AlertKind.SCENE})


class Muted(StrEnum):
    SILENCED = "silenced"
    MAINTENANCE = "maintenance"
    BY_OPEN_MODEL = "by_open_model"  # the model is out: its lesser alerts add nothing
    UNSURE = "unsure"  # a rise that may be chance: told as soon as it is sure, ended without a word if it never is
    BY_SUSPECT = "by_suspect"  # the detector is suspect: what it says of single models is not news


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """What a person does not want to hear of until `ends_at`. An empty field matches all; names may be globs."""

    id: int = 0
    kind: str = ""
    model: str = ""
    subject: str = ""
    scene: str = ""
    author: str
    reason: str
    starts_at: float
    ends_at: float
    created_at: float = 0.0
    ended_at: float | None = None
    ended_by: str = ""

    def active(self, now_s: float) -> bool:
        return self.starts_at <= now_s < (self.ends_at if self.ended_at is None else min(self.ends_at, self.ended_at))

    def matches(self, here: Incident) -> bool:
        pairs = (
            (self.kind, here.kind),
            (self.model, here.model),
            (self.subject, here.subject),
            (self.scene, here.scene),
        )
        return all(not pattern or fnmatchcase(value, pattern) for pattern, value in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A maintenance window that comes every week: `days` 0..6 from Monday, `start` and `end` in minutes of the day.

    `end` <= `start` runs past midnight and belongs to the day it starts on. Empty `models` or `kinds` match all.
    """

    days: frozenset[int]
    start: int
    end: int
    timezone: str
    models: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    reason: str = ""

    def active(self, now_s: float) -> bool:
        here = datetime.fromtimestamp(now_s, UTC).astimezone(ZoneInfo(self.timezone))
        minute = here.hour * 60 + here.minute
        if self.start < self.end:
            return here.weekday() in self.days and self.start <= minute < self.end
        yesterday = (here - timedelta(days=1)).weekday()
        return (here.weekday() in self.days and minute >= self.start) or (yesterday in self.days and minute < self.end)

    def matches(self, here: Incident) -> bool:
        model = not self.models or any(fnmatchcase(here.model, pattern) for pattern in self.models)
        return model and (not self.kinds or here.kind in self.kinds)


def muted(
    incidents: Sequence[Incident], silences: Iterable[Silence], windows: Iterable[Window], now_s: float
) -> Mapping[int, Muted]:
    """Which of the incidents are not to be told now, by id, and why. Tests of the pipe are never muted."""
    silencing = [silence for silence in silences if silence.active(now_s)]
    mending = [window for window in windows if window.active(now_s)]
    out = {here.id for here in incidents if _opens(here)}
    open_models = {here.model for here in incidents if here.id in out}
    suspect = any(here.kind is AlertKind.DETECTOR_SUSPECT and here.firing for here in incidents)
    sure = {here.model for here in incidents if here.kind in RISES and here.firing and not _unsure(here)}
    why: dict[int, Muted] = {}
    for here in incidents:
        if here.kind is AlertKind.TEST:
            continue
        if any(silence.matches(here) for silence in silencing):
            why[here.id] = Muted.SILENCED
        elif any(window.matches(here) for window in mending):
            why[here.id] = Muted.MAINTENANCE
        elif here.id not in out and here.model in open_models and RANKS[here.severity] < RANKS[Severity.CRITICAL]:
            why[here.id] = Muted.BY_OPEN_MODEL
        elif suspect and here.model and here.kind is not AlertKind.DETECTOR_SUSPECT and not _is_hard(here):
            why[here.id] = Muted.BY_SUSPECT
        elif not here.announced and (_unsure(here) or (_by_scenes(here) and here.model not in sure)):
            why[here.id] = Muted.UNSURE
    return why


def _unsure(here: Incident) -> bool:
    """Whether the hourly watch has marked it and would not yet bet on it."""
    return here.kind in RISES and here.firing and here.facts.get("sure") is False


def _by_scenes(here: Incident) -> bool:
    """Whether it is an L1 that stands on findings of scenes alone: it is as sure as they are."""
    reasons = here.facts.get("reasons")
    return here.kind is AlertKind.TRANSITION and here.stage == Level.WARN and reasons == [Reason.SCENE.value]


def _opens(here: Incident) -> bool:
    """Whether it says that its model is out. It goes on muting until the model is healthy, also at a tenth of its share."""
    return here.kind is AlertKind.TRANSITION and here.firing and here.peak_severity is Severity.CRITICAL


def _is_hard(here: Incident) -> bool:
    """Whether it tells of something that no detector has a part in: a vendor that fails or refuses us."""
    if here.kind is AlertKind.FORBIDDEN:
        return True
    reasons = here.facts.get("reasons")
    return isinstance(reasons, Sequence) and not HARD_REASONS.isdisjoint(str(reason) for reason in reasons)

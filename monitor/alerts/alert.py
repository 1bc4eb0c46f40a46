"""What the monitor finds worth telling a person: one condition, from the moment it holds until it holds no more.

In:  findings of the hourly watch, nightly runs, gray releases, feedback, jobs; moves of the breaker.
Out: one Alert record each. Whether, when and to whom it is told is decided elsewhere (group, inhibit, silence, budget).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How soon a person must look. CRITICAL is told at once and escalates; INFO never wakes anybody."""

    INFO = "info"
    WARN = "warn"
    CRITICAL = "critical"


class AlertKind(StrEnum):
    """The conditions told; each has a runbook page of the same name (docs/runbooks/)."""

    TRANSITION = "transition"  # the breaker moved a model
    PHRASE_ONLY = "phrase_only"  # every model of a route is out
    DETECTOR_SUSPECT = "detector_suspect"  # most models "sick" at once: look at the detector first
    FLAPPING = "flapping"
    HOURLY = "hourly"  # repeats up by half on the hour before
    SCENE = "scene"  # one scene of a model up by 40 % on its previous period
    MODEL_CHANGED = "model_changed"  # a vendor changed its model or fingerprint silently
    PARSE_TREND = "parse_trend"  # ever more replies need JSON repair
    NIGHTLY = "nightly"  # worse than its pinned baseline
    DAILY_REPORT = "daily_report"
    GRAY = "gray"  # a gray release was stopped, promoted, or starves
    COMPLAINTS = "complaints"  # users complain more than a day's chance explains
    JOB_MISSED = "job_missed"  # a clock job did not run, or failed
    ROBOT_BROKEN = "robot_broken"  # a channel refuses us
    STORE_DOWN = "store_down"
    FORBIDDEN = "forbidden"  # a vendor refuses our key, account or model name
    HEARTBEAT = "heartbeat"  # the pipe is alive
    DIGEST = "digest"  # what the budgets held back
    TEST = "test"


MOMENTS = frozenset(
    {AlertKind.MODEL_CHANGED, AlertKind.DAILY_REPORT, AlertKind.HEARTBEAT, AlertKind.DIGEST, AlertKind.TEST}
)
"""Kinds that tell of a moment and not of a condition that holds: told once, and nobody needs to resolve them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One condition about one `subject` (a model, a route, a job, a channel).

    (`kind`, `subject`, `scene`) is its identity: firing it again while it is open adds a revision, not a second alert.
    A moment's identity has its `at` as well: handed in twice it is told once, and the next one is told again.
    `facts` are plain JSON values that the message templates name; ratios 0..1, moments in seconds since the epoch.
    `facts["level"]`, where given, is the stage the condition has reached: a change of it is told.
    """

    kind: AlertKind
    subject: str
    severity: Severity
    at: float
    model: str = ""
    scene: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    moment: bool = False
    """Tell of a moment although the kind may also hold (a gray release that was promoted). It ends what held until then."""

    @property
    def passes(self) -> bool:
        """Whether it tells of a moment: by itself or by its kind."""
        return self.moment or self.kind in MOMENTS

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.subject}:{self.scene}"

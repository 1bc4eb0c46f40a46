"""A gray release: the document that all replicas share, and which sessions it sends to the new version.

The new version is another model of the configuration, the `candidate`; the release gives it a part of the sessions of
the `model` it may replace. Every change is a compare-and-set on `epoch`; moments are seconds since the epoch.
What moves it is decided in monitor/gray.py.  Source: BREAKER.md, Gray release.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b

SCHEMA = 1
KEPT_EVENTS = 50
KEPT_REJECTIONS = 20


class GrayStage(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"  # the split stays, nothing is concluded from what comes
    WAITING = "waiting"  # a step is passed; a person says whether to go on
    PROMOTED = "promoted"  # all sessions; make it so in the configuration, then stop it
    ROLLED_BACK = "rolled_back"
    STOPPED = "stopped"  # by a person; never "passed"

    @property
    def active(self) -> bool:
        """Whether the release still goes on."""
        return self in (GrayStage.RUNNING, GrayStage.PAUSED, GrayStage.WAITING)


class GrayReason(StrEnum):
    """Why it is where it is: the same word in the document, in alerts and in the report."""

    STARTED = "started"
    STEP_PASSED = "step_passed"
    ALL_PASSED = "all_passed"
    RESUMED = "resumed"
    NEW_VERSION = "new_version"
    WORSE_REPEATS = "worse_repeats"
    WORSE_HARD = "worse_hard"
    STUCK_STREAMS = "stuck_streams"
    OPENED = "opened"  # the breaker took the candidate off
    NO_DATA = "no_data"
    STARVED = "starved"  # at the deadline still too little to say
    STABLE_SICK = "stable_sick"  # nothing to compare with
    SOURCE_FAILS = "source_fails"  # the counts cannot be read
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """What one arm has done: judged replies and repeats among them, attempts and hard failures among them."""

    judged: int = 0
    repeats: int = 0
    attempts: int = 0
    hard: int = 0

    def __add__(self, other: "Arm") -> "Arm":
        return Arm(
            judged=self.judged + other.judged,
            repeats=self.repeats + other.repeats,
            attempts=self.attempts + other.attempts,
            hard=self.hard + other.hard,
        )

    @property
    def repeat_ratio(self) -> float:
        return self.repeats / self.judged if self.judged else 0.0

    @property
    def hard_ratio(self) -> float:
        return self.hard / self.attempts if self.attempts else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GrayEvent:
    """One move of a release, with the figures it was decided on."""

    at: float
    stage: GrayStage
    reason: GrayReason
    share: float
    actor: str = "monitor"
    note: str = ""
    numbers: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A version that was rolled back, and until when it may not come again."""

    candidate: str
    version: str
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GrayRelease:
    """The document of one model. `share` is the part of its sessions that the candidate serves, 0..1."""

    model: str
    candidate: str
    version: str
    id: str
    """One analysis: another version, another id, and counters that begin anew."""
    schema: int = SCHEMA
    epoch: int = 0
    fence: int = 0
    stage: GrayStage = GrayStage.RUNNING
    reason: GrayReason = GrayReason.STARTED
    share: float = 0.0
    step: int = 0
    by_itself: bool = True
    """Whether it goes on to the next step without a person."""
    started_at: float = 0.0
    since: float = 0.0
    """When it came to where it is."""
    step_at: float = 0.0
    step_quiet_s: float = 0.0
    """Time of this step that does not count, because the analysis was paused."""
    ended_at: float = 0.0
    data_at: float = 0.0
    """When the gray arm last showed a judged reply."""
    counted_to: int = 0
    """The first minute (epoch seconds // 60) that is not in the arms yet."""
    gray: Arm = Arm()
    stable: Arm = Arm()
    step_judged: int = 0
    """Judged replies of the gray arm in this step."""
    repeat_logs: tuple[float, ...] = ()
    hard_logs: tuple[float, ...] = ()
    """Log e-values, one for each lift."""
    events: tuple[GrayEvent, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    """Of this model, whichever release they belonged to."""

    @property
    def split(self) -> float:
        """The part of the sessions that routing gives the candidate now."""
        return self.share if self.stage.active or self.stage is GrayStage.PROMOTED else 0.0

    @property
    def gray_arm(self) -> str:
        return f"{self.id}-gray"

    @property
    def stable_arm(self) -> str:
        return f"{self.id}-stable"

    def takes(self, session: str) -> bool:
        """Whether the candidate serves that session: the same answer everywhere, and as the share grows nobody goes back."""
        split = self.split
        if split <= 0.0 or split >= 1.0:
            return split >= 1.0
        return place_of(self.id, session) < split

    def changed(self, **fields: object) -> "GrayRelease":
        """The next document: the given fields, one epoch on."""
        return replace(self, epoch=self.epoch + 1, **fields)  # type: ignore[arg-type]


def place_of(id: str, session: str) -> float:
    """Where in 0..1 a session lies for the release `id`: even over sessions, another one for each release."""
    digest = blake2b(f"{id}|{session}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / 2.0**64


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Who serves a session of a model under release, and under which arm the attempt counts."""

    model: str
    arm: str

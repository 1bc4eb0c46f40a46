"""A scenario file as records: what traffic the models had, what was done, and what must come of it.

In:  plain data, as read from YAML (format: docs/scenarios.md).  Out: Scenario, frozen and checked whole.
Raises pydantic.ValidationError, whose places are those of the file.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from breaker.evidence import EvidenceKind
from breaker.levels import Level, Mode, Reason
from breaker.policy import BreakerPolicy

START_S = 1_700_000_040.0
"""Minute 0 of every scenario: a whole minute."""
TICK_S = 15.0
PHASE_S = 3.0
"""Evaluations stand 3 s after a tick: past the grace for late flushes."""

Minute = Annotated[int, Field(ge=0, le=10_000)]
Second = Annotated[float, Field(ge=0, lt=60)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Counts = Annotated[
    list[Count], Field(min_length=1), BeforeValidator(lambda value: value if isinstance(value, list) else [value])
]
"""One figure, or several that take turns."""
Replica = Annotated[int, Field(ge=0, le=3)]
REAL_ONLY = frozenset({"stop_store", "start_store", "restart", "skew"})


def _span(value: object) -> object:
    """`3` or `3-9` as (first, last)."""
    first, dash, last = str(value).partition("-")
    if not first.strip().isdigit() or (dash and not last.strip().isdigit()):
        raise ValueError("must be a minute or a span of minutes: 3 or 3-9")
    span = int(first), int(last or first)
    if span[0] > span[1]:
        raise ValueError("the span ends before it begins")
    return span


Span = Annotated[tuple[int, int], BeforeValidator(_span)]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ForModel(Part):
    """`model`: None means the scenario's first."""

    model: str | None = None


class AtMoment(ForModel):
    minute: Minute
    second: Second = 0.0

    @property
    def at_s(self) -> float:
        """Seconds since the epoch."""
        return START_S + 60.0 * self.minute + self.second


class Spoken(NamedTuple):
    """The replies of one minute; the fields of Traffic."""

    minute: int
    n: int
    k: int
    empty: int
    structured: int
    unreadable: int


class Traffic(ForModel):
    """Judged replies `n`, of which `k` repeat, in each minute; a list is cycled. `replica`: on that one alone.

    Others of them are `empty` or were asked for as JSON (`structured`), and `unreadable` of these hold none.
    """

    minutes: Span
    n: Counts
    k: Counts = Field(default=[0])
    empty: Counts = Field(default=[0])
    structured: Counts = Field(default=[0])
    unreadable: Counts = Field(default=[0])
    scene: str = "chat"
    replica: Replica | None = None

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        for said in self.by_minute():
            if (said.empty or said.structured) and said.k + said.empty + said.structured > said.n:
                raise ValueError("k, empty and structured are parts of n that do not overlap; together they exceed it")
            if said.unreadable > said.structured:
                raise ValueError("unreadable is a part of structured and exceeds it")
        return self

    def by_minute(self) -> Iterator[Spoken]:
        """The replies of each minute, oldest first."""
        first, last = self.minutes
        figures = (self.n, self.k, self.empty, self.structured, self.unreadable)
        for index, minute in enumerate(range(first, last + 1)):
            yield Spoken(minute, *(figure[index % len(figure)] for figure in figures))


class Fast(AtMoment):
    """One 5-second bucket. `sessions` are those of the stuck streams or repeats; `same`: repeats of one fingerprint."""

    attempts: Count = 0
    hard: Count = 0
    streams: Count = 0
    stuck: Count = 0
    sessions: tuple[str, ...] = ()
    same: Count = 0


class Probes(ForModel):
    """Results of probes, one a tick: `c` clean, `b` bad, `q` refused for quota: given back, not counted."""

    minute: Minute
    results: Annotated[str, Field(pattern=r"^[cbq]+$")]
    when_asked: bool = False
    """Dropped unless the model is recovering then: recorded replies that stand in for probes nobody sent."""


class Found(AtMoment):
    """An evidence record of the monitor."""

    id: str
    kind: EvidenceKind
    valid_min: Annotated[float, Field(gt=0, le=2_880)]
    numbers: dict[str, float] = Field(default_factory=dict)
    scene: str = ""


class Command(AtMoment):
    """What is done at a moment: by an operator, or (only with real replicas) to the machinery."""

    do: Literal["force", "reset", "policy", "propose", "stop_store", "start_store", "restart", "skew"]
    mode: Mode | None = None
    until: Minute | None = None
    times: Annotated[int, Field(ge=1, le=20)] = 1
    level: Level | None = None
    set: BreakerPolicy | None = None
    replica: Replica | None = None
    seconds: float | None = None

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        needed = {"force": "mode", "propose": "level", "restart": "replica", "skew": "seconds"}.get(self.do)
        if self.do == "force" and self.mode not in (None, Mode.AUTO, Mode.OBSERVE) and self.until is None:
            raise ValueError("a forced mode needs until, the minute it ends")
        if needed is not None and getattr(self, needed) is None:
            raise ValueError(f"{self.do} needs {needed}")
        if self.do == "policy" and self.set is None:
            raise ValueError("policy needs set")
        return self


class Compare(ForModel):
    """At `minute`: did the last `span_min` minutes rise against those before, by the hourly rule? Answer in `end.rose`."""

    minute: Minute
    span_min: Annotated[int, Field(ge=1, le=65)] = 60


class Expected(ForModel):
    """One transition. `enforced` is false for what was decided and not obeyed."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    minute: int
    from_level: Level = Field(alias="from")
    to_level: Level = Field(alias="to")
    reasons: tuple[Reason, ...] = ()
    enforced: bool = True


class End(Part):
    """How it stands at the end: of the first model, and of all together. Only what is given is compared."""

    level: Level | None = None
    mode: Mode | None = None
    open_count: int | None = None
    would_be: Level | None = None
    unknown: bool | None = None
    probes_wanted: bool | None = None
    levels: dict[str, Level] | None = None
    judged: int | None = None
    """Judged replies of all models, kept at the end."""
    told: dict[str, list[str]] | None = None
    """Conditions by kind: the minutes `from-to` (`from-` while it still holds) during which each held."""
    overflow: int | None = None
    """Models kept in service by `max_open_ratio`."""
    refused: int | None = None
    """Proposals refused."""
    rose: list[bool] | None = None
    detected: int | None = None
    """Moves up that were decided."""
    enforced: int | None = None
    """Moves up that were obeyed."""


class Scenario(Part):
    """The whole file. `models` share one route with equal weights; `last_model` as in a route's settings."""

    row: int | None = None
    title: str = ""
    until: Minute
    tick_s: Literal[15, 30, 60] = 15
    models: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)] = ("m",)
    last_model: Literal["open", "keep_reduced"] = "open"
    policy: BreakerPolicy = BreakerPolicy()
    traffic: tuple[Traffic, ...] = ()
    fast: tuple[Fast, ...] = ()
    evidence: tuple[Found, ...] = ()
    probes: tuple[Probes, ...] = ()
    commands: tuple[Command, ...] = ()
    compare: tuple[Compare, ...] = ()
    expect: tuple[Expected, ...] | None = None
    end: End = End()

    @model_validator(mode="after")
    def _models_are_named(self) -> Self:
        parts: tuple[ForModel, ...] = (
            *self.traffic, *self.fast, *self.evidence, *self.probes, *self.commands, *self.compare, *(self.expect or ()),
        )  # fmt: skip
        unknown = sorted({part.model for part in parts if part.model is not None} - set(self.models))
        if unknown:
            raise ValueError(f"models does not name {', '.join(unknown)}")
        return self

    def of(self, part: ForModel) -> str:
        """The model a part is about."""
        return part.model or self.models[0]

    @property
    def changed_policy(self) -> dict[str, Any]:
        """The fields of the policy that the file sets."""
        return self.policy.model_dump(exclude_unset=True)

    @property
    def ticks(self) -> int:
        return int(self.until * 60 / self.tick_s) + 1

    @property
    def real_only(self) -> str | None:
        """The command that only real replicas can obey, if there is one."""
        return next((command.do for command in self.commands if command.do in REAL_ONLY), None)

    @property
    def keep_last(self) -> tuple[tuple[str, ...], ...]:
        return (self.models,) if self.last_model == "keep_reduced" else ()


def at_s(minute: float, second: float = 0.0) -> float:
    """Seconds since the epoch of a moment of the scenario."""
    return START_S + 60.0 * minute + second


def minute_of(now_s: float) -> int:
    """The minute of the scenario that `now_s` lies in."""
    return int((now_s - START_S) // 60)

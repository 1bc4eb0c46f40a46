"""The daily report as a record: everything that any of its forms shows, and nothing that must be asked again.

It is kept as JSON, so that a report of last month can be drawn again in another language or form.
Moments are seconds since the epoch, ratios 0..1, money in `currency`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

FORMAT = 1
"""Raised when a field changes its meaning; a reader refuses what is newer than it knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """k of n judged replies."""

    n: int
    k: int

    @property
    def ratio(self) -> float:
        return self.k / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One class of loops against the baseline. `chance`: of a move this large, if nothing had changed."""

    loop_class: str
    tonight: Part
    baseline: Part
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonPart:
    """Structured items: asked, parsed at all, schema kept, content right; by step of the ladder and first reason."""

    asked: int
    parsed: int
    valid: int
    right: int
    steps: Mapping[str, int]
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPart:
    """One model's night. `low` and `high`: 95 % interval of its rate; `baseline` None without one."""

    model: str
    total: Part
    low: float
    high: float
    standing: str
    growth: float
    chance: float
    confirmed: bool
    baseline: Part | None
    baseline_rate: float
    baseline_run: str
    baseline_version: int
    classes: Mapping[str, int]
    lures: Mapping[str, Part]
    languages: Mapping[str, Part]
    json: JsonPart
    changes: tuple[Change, ...]
    newly_ill: tuple[str, ...]
    no_longer_ill: int
    faults: Mapping[str, int]
    asked: int
    tokens_in: int
    tokens_out: int
    cost: float
    mean_s: float
    served: tuple[str, ...]
    served_before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One model on one night of the trend."""

    day: str
    model: str
    total: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One bad reply, cut to what a reader needs: `loop` is the repetition, `before` and `after` its surroundings."""

    model: str
    prompt_id: str
    lure: str
    language: str
    loop_class: str
    repeats: int
    chars: int
    fingerprint: str
    asked: str
    before: str
    loop: str
    after: str
    alike: int
    """How many other replies of the night had the same fingerprint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    day: str
    made_at: float
    timezone: str
    run_id: str
    suite: str
    suite_version: str
    detector_version: str
    prompts: int
    started_at: float
    ended_at: float
    currency: str
    priced: bool
    models: tuple[ModelPart, ...]
    trend: tuple[Point, ...]
    live: Mapping[str, Part]
    samples: tuple[Sample, ...]
    detail: str = ""
    sampled: bool = False
    """Only a part of the suite was asked: held against no baseline, and none itself."""
    format: int = FORMAT

    @property
    def cost(self) -> float:
        return sum(model.cost for model in self.models)

    @property
    def worse(self) -> tuple[ModelPart, ...]:
        return tuple(model for model in self.models if model.standing in ("worse", "doubled"))


class UnreadableReport(ValueError):
    """The kept document is none, or of a newer version than this one reads."""


def to_document(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return dict(msgspec.to_builtins(report))


def from_document(document: Mapping[str, Any]) -> Report:
    """The report in a kept document. Raises UnreadableReport."""
    if not isinstance(version := document.get("format"), int) or version > FORMAT:
        raise UnreadableReport(f"the report has format {version!r}, this version reads up to {FORMAT}")
    try:
        return msgspec.convert(dict(document), Report)
    except msgspec.ValidationError as error:
        raise UnreadableReport(f"the kept report cannot be read: {error}") from error

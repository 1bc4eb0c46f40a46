"""The records of the nightly evaluation: a run, one prompt's result, a pinned baseline.

Moments are seconds since the epoch, ratios 0..1, costs in the policy's currency.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from breaker.seen import Tally


class RunState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Trigger(StrEnum):
    NIGHTLY = "nightly"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a suite over some models. A run left RUNNING goes on where it stopped."""

    id: str
    trigger: Trigger
    started_at: float
    suite: str
    suite_version: str
    detector_version: str
    prompts: int
    sampled: bool
    """Part of the suite only: shown, never compared or pinned."""
    models: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    state: RunState = RunState.RUNNING
    ended_at: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one model made of one prompt. `round` is 1, or 2 for the re-run that confirms a doubling.

    `counted`: a judged text reply, part of n; `ill`: part of k. `parsed`, `schema_ok`, `content_ok` are None where no JSON
    was asked for. `start` and `end` are code points of the reply, [start, end).
    """

    run_id: str
    model: str
    prompt_id: str
    round: int
    at: float
    lure: str
    language: str
    counted: bool
    ill: bool
    fault: str = ""
    loop_class: str = ""
    rules: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    fingerprint: str = ""
    start: int = 0
    end: int = 0
    repeats: int = 0
    step: str = ""
    parsed: bool | None = None
    schema_ok: bool | None = None
    content_ok: bool | None = None
    why_not: str = ""
    served_model: str = ""
    finish_reason: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    elapsed_s: float = 0.0
    cost: float = 0.0
    asked: str = ""
    reply: str = ""
    reply_chars: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        return self.model, self.prompt_id, self.round


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a model is held against: one good run, frozen. `version` counts the pins of one model, suite and detector."""

    model: str
    suite_version: str
    detector_version: str
    version: int
    run_id: str
    n: int
    k: int
    classes: Mapping[str, int]
    json_items: int
    json_valid: int
    ill_prompts: tuple[str, ...]
    served_model: str
    pinned_at: float
    pinned_by: str
    note: str = ""

    @property
    def tally(self) -> Tally:
        return Tally(self.n, self.k)

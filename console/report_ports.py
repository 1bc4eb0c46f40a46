"""Daily reports and evaluation runs, as they are read. Fulfilled by the store and by pointsman/kept_reports.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDay:
    """One kept daily report."""

    day: str
    at: float
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRun:
    """One evaluation run; `state` is running, done, failed or stopped."""

    id: str
    suite: str
    state: str
    started_at: float
    ended_at: float | None
    detail: str
    trigger: str = ""
    """`nightly` or `manual`."""
    models: tuple[str, ...] = ()
    prompts: int = 0
    sampled: bool = False
    """A part of the suite only: shown, never compared."""
    detector_version: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Request fields that were laid over every call of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalResult:
    """What one model made of one prompt. Empty texts: not kept (`nightly.keep_replies`), or past their time.

    `counted`: judged; `ill`: it repeats itself. `parsed`, `schema_ok`, `content_ok`: None where no JSON was asked for.
    The loop is `[start, end)` in code points of `reply`, which may be shorter than `reply_chars`.
    """

    model: str
    prompt_id: str
    round: int
    at: float
    lure: str
    language: str
    counted: bool
    ill: bool
    fault: str
    loop_class: str
    rules: tuple[str, ...]
    metrics: Mapping[str, float]
    start: int
    end: int
    repeats: int
    step: str
    parsed: bool | None
    schema_ok: bool | None
    content_ok: bool | None
    why_not: str
    served_model: str
    finish_reason: str
    parameters: Mapping[str, Any]
    tokens_in: int
    tokens_out: int
    elapsed_s: float
    cost: float
    asked: str
    reply: str
    reply_chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalModel:
    """One model in one run, over all rounds: `judged` replies, of which `ill`; JSON asked for, schema kept, right."""

    model: str
    asked: int
    judged: int
    ill: int
    json_asked: int
    json_valid: int
    json_right: int


class Reports(Protocol):
    """Daily reports and evaluation runs, read. All methods raise StoreUnavailable."""

    async def days(self, limit: int) -> Sequence[ReportDay]: ...

    async def html(self, day: str, language: str) -> str | None:
        """The whole page, which asks nothing of anybody; None: no report of that day, or one that cannot be read."""

    async def runs(self, limit: int) -> Sequence[EvalRun]: ...

    async def run(self, id: str) -> EvalRun | None: ...

    async def models(self, run_id: str) -> Sequence[EvalModel]:
        """How each model did, by name."""
        ...

    async def results(
        self, run_id: str, *, model: str = "", lure: str = "", only: str = "", limit: int = 100, offset: int = 0
    ) -> Sequence[EvalResult]:
        """Those that repeat first, then by model, prompt and round. `only`: "" all, `ill`, `wrong` (JSON asked for and
        not right), `unjudged` (no judged reply); any other word is as ""."""
        ...

    async def result(self, run_id: str, model: str, prompt_id: str, round: int) -> EvalResult | None: ...

"""What the console reads and does. Fulfilled in pointsman/ by the guard and the store.

Posture when the store is gone: reads show the last known state and say so; an act that cannot be written down is refused.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from base.request_rows import BadReplyRow, RequestRow
from breaker.explain import Explanation
from breaker.levels import Mode
from breaker.policy import BreakerPolicy
from breaker.seen import Seen
from breaker.snapshot import Snapshot, Transition
from breaker.window import MinuteRow
from fallback_phrases.catalog import Phrases


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A model's part of one route's traffic, 0..1."""

    route: str
    configured: float
    effective: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the settings say of a model. `endpoints` are host names only: a URL may hold a key."""

    model: str
    vendor: str = ""
    routes: tuple[str, ...] = ()
    scenes: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()


class Fleet(Protocol):
    """All methods but `models` raise KeyError for an unknown model; async ones raise StoreUnavailable."""

    @property
    def models(self) -> Sequence[str]: ...
    def snapshot(self, model: str) -> Snapshot: ...
    def shares(self, model: str) -> Sequence[Share]: ...
    def store_down(self) -> bool: ...
    async def explain(self, model: str) -> Explanation: ...
    async def force(self, model: str, mode: Mode, actor: str, reason: str, until: float) -> Snapshot: ...
    async def reset(self, model: str, actor: str, reason: str) -> Snapshot: ...
    def now_s(self) -> float: ...


class Yard(Fleet, Protocol):
    """The fleet as the pages need it: with what each model is, and the counts behind each explanation."""

    @property
    def policy(self) -> BreakerPolicy: ...
    def known(self, model: str) -> Known: ...

    def all_shares(self) -> Mapping[str, Sequence[Share]]:
        """What `shares` says of every model, worked out once."""

    def phrase_only_routes(self) -> Sequence[str]:
        """Routes in which no model may answer."""

    def detector_suspect(self) -> bool: ...
    async def study(self, model: str) -> tuple[Explanation, Seen]: ...
    async def minutes(self, model: str, first: int, last: int) -> Sequence[MinuteRow]:
        """Every scope of the model; minutes are epoch seconds // 60. Raises StoreUnavailable."""


class Audit(Protocol):
    """Who did what. Raises StoreUnavailable: then the act is not done."""

    async def record(
        self, *, actor: str, action: str, target: str, reason: str, details: Mapping[str, object], role: str = "admin"
    ) -> None: ...


class History(Protocol):
    async def transitions(
        self, model: str | None = None, *, since: float = 0.0, limit: int = 200
    ) -> Sequence[Transition]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One line of the audit log."""

    at: float
    actor: str
    role: str
    action: str
    target: str
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)


class AuditTrail(Audit, Protocol):
    """The audit log, written and read. All methods raise StoreUnavailable."""

    async def acts(
        self, *, actor: str = "", action: str = "", target: str = "", before: float | None = None, limit: int = 100
    ) -> Sequence[Act]:
        """Newest first; texts match whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """One model in one hour of the past; `at` is its beginning."""

    at: float
    judged: int
    repeats: int


class HourBook(Protocol):
    """The roll-up by hours. Raises StoreUnavailable."""

    async def hours(self, model: str, since: float) -> Sequence[Hour]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One attempt of a request. Times in milliseconds from its beginning; `begun_ms` None: an older row did not say."""

    model: str
    endpoint: int
    fault: str
    status: int | None
    begun_ms: int | None
    elapsed_ms: int
    loop_class: str = ""
    held_chars: int = 0
    suppressed_chars: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(RequestRow):
    """One request as it is read back."""

    tries: tuple[Try, ...]

    @property
    def troubled(self) -> bool:
        return self.status >= 400 or self.fallback != "none" or self.verdict not in ("clean", "none", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(BadReplyRow):
    """A reply that failed, as it is read back. `marked`: a person's word on its verdict, right or wrong."""

    id: str
    marked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Which requests are looked for; empty fields ask for nothing. `trouble`: failed over, cut, or refused."""

    request_id: str = ""
    app: str = ""
    route: str = ""
    scene: str = ""
    model: str = ""
    session: str = ""
    fallback: str = ""
    trouble: bool = False
    since: float = 0.0
    before: float | None = None


class Records(Protocol):
    """The call log, read and marked. All methods raise StoreUnavailable."""

    async def requests(self, sought: Sought, limit: int) -> Sequence[Asked]:
        """Newest first; an id may be given by its beginning."""

    async def failed(
        self, *, request_id: str = "", model: str = "", fingerprint: str = "", limit: int = 50
    ) -> Sequence[Failed]: ...

    async def mark(self, failed_id: str, word: str) -> bool:
        """Write down that a verdict was `right` or `wrong`, or take the word back with ""; False: no such reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What happened to a test prompt. `kind`: text, end or error; `at_ms` since it was sent; `facts` of the end."""

    kind: str
    at_ms: int
    text: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


class Prober(Protocol):
    """Sends a prompt to the clients' port as an app would, and tells what comes back."""

    def routes(self) -> Sequence[str]: ...

    def send(self, route: str, prompt: str, key: str) -> AsyncIterator[Told]:
        """Ends with one `end` or `error`; raises nothing but cancellation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """One app key as an operator sees it; `hint` is its end."""

    id: str
    app: str
    hint: str
    routes: tuple[str, ...] | None
    per_minute: int | None
    tokens_per_minute: int | None
    max_concurrent: int | None
    support: bool
    created_at: float
    created_by: str
    revoked_at: float | None


class KeyRing(Protocol):
    """App keys. All methods raise StoreUnavailable."""

    async def all(self) -> Sequence[KeyRow]: ...

    async def make(
        self,
        app: str,
        *,
        by: str,
        routes: Sequence[str] | None,
        per_minute: int | None,
        tokens_per_minute: int | None,
        max_concurrent: int | None,
        support: bool,
    ) -> str:
        """The key itself, which is never shown again."""

    async def revoke(self, id: str) -> bool: ...
    def routes(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseVersion:
    """One saved state of one language's phrases; `body` is the text of a phrase file."""

    id: int
    language: str
    at: float
    actor: str
    reason: str
    body: str


class PhraseBook(Protocol):
    """Phrases in force and every version saved. Async methods raise StoreUnavailable."""

    def current(self) -> Mapping[str, Phrases]:
        """By language, as this process uses them now."""

    def scenes(self) -> frozenset[str]: ...

    async def versions(self, language: str, limit: int) -> Sequence[PhraseVersion]:
        """Newest first."""

    async def version(self, id: int) -> PhraseVersion | None: ...
    async def save(self, language: str, body: str, actor: str, reason: str) -> int: ...


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

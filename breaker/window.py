"""What was counted: per model and minute, and in 5-second buckets for the fast rules.

Counts are absolute sums over one writer's life of that minute; a store adds writers up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

MINUTE_S = 60
FAST_BUCKET_S = 5
KEPT_MIN = 130
"""Minutes that rules may look back on, and the widest back-fill after an outage (BREAKER.md, Redis)."""
KEPT_FAST_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Attempts that ended in one minute; `judged` is n, `repeats` is k of BREAKER.md."""

    judged: int = 0
    stuck: int = 0
    phrase_loop: int = 0
    sentence_loop: int = 0
    paragraph_loop: int = 0
    restatement: int = 0
    format_runaway: int = 0
    garble: int = 0
    empty: int = 0
    invalid_format: int = 0
    refused: int = 0
    timeouts: int = 0
    connect_failed: int = 0
    server_errors: int = 0
    broken_streams: int = 0
    rate_limited: int = 0
    forbidden: int = 0
    abandoned: int = 0
    streams: int = 0
    hard_stops: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    suppressed_chars: int = 0
    elapsed_ms: int = 0
    structured: int = 0  # replies that were asked for as JSON and read
    repaired: int = 0  # of those, the ones that took the last step of the parse ladder
    unreadable: int = 0  # of those, the ones that hold no JSON at all though nothing cut them short

    @property
    def repeats(self) -> int:
        return (
            self.stuck
            + self.phrase_loop
            + self.sentence_loop
            + self.paragraph_loop
            + self.restatement
            + self.format_runaway
        )

    @property
    def soft(self) -> int:
        """Judged replies that are no answer: empty, garbled, or not JSON where JSON was asked for.

        `invalid_format` is not among them: a reply that is JSON and breaks its schema may be the fault of the schema.
        """
        return self.empty + self.garble + self.unreadable

    @property
    def hard(self) -> int:
        return self.timeouts + self.connect_failed + self.server_errors + self.broken_streams

    @property
    def ratio(self) -> float:
        """k / n, 0..1; 0.0 when nothing was judged (compare with the minimum sample first)."""
        return self.repeats / self.judged if self.judged else 0.0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in COUNT_NAMES})


COUNT_NAMES = tuple(f.name for f in fields(Counts))


def total(rows: Iterable[Counts]) -> Counts:
    """Sum of counts; the empty sum is all zeros."""
    sums = dict.fromkeys(COUNT_NAMES, 0)
    for row in rows:
        for name in COUNT_NAMES:
            sums[name] += getattr(row, name)
    return Counts(**sums)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinuteRow:
    """One writer's (or, read back, the fleet's) counts of one model and scope in one minute.

    `scope` is "" for the whole model, else `scene:NAME`, `endpoint:N` or `arm:NAME`; `minute` is epoch seconds // 60.
    """

    model: str
    scope: str
    minute: int
    counts: Counts
    fingerprints: Mapping[str, int] = field(default_factory=dict)
    detectors: tuple[str, ...] = ()
    """Versions of the detector that judged them, ascending; empty: counted by a release that did not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FastRow:
    """Hard failures and stuck streams of one model in one 5-second bucket (`bucket` = epoch seconds // 5)."""

    model: str
    bucket: int
    attempts: int = 0
    hard: int = 0
    streams: int = 0
    stuck: int = 0
    stuck_sessions: tuple[str, ...] = ()
    loops: Mapping[str, int] = field(default_factory=dict)
    """Fingerprint -> degenerate replies with it."""
    loop_sessions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Fingerprint -> session hashes (capped at 64)."""
    detectors: tuple[str, ...] = ()
    """As in MinuteRow."""

"""What the detector says of one text: the records every other room reads.

Offsets are code points of the scored text, spans are `[start, end)`; ratios are 0..1.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Health(StrEnum):
    """Whether the text may be shown. SUSPECT exists only while a stream is held."""

    CLEAN = "clean"
    SUSPECT = "suspect"
    DEGENERATE = "degenerate"


class LoopClass(StrEnum):
    """The six classes of repetition, and the two illnesses that are none."""

    STUCK = "stuck"
    PHRASE_LOOP = "phrase_loop"
    SENTENCE_LOOP = "sentence_loop"
    PARAGRAPH_LOOP = "paragraph_loop"
    RESTATEMENT = "restatement"
    FORMAT_RUNAWAY = "format_runaway"
    GARBLE = "garble"
    RARE = "rare"


REPETITION_CLASSES = frozenset(LoopClass) - {LoopClass.GARBLE, LoopClass.RARE}
"""The classes that count as `k` for the breaker."""


class Rule(StrEnum):
    """Which rule fired; the same word is log field, metric label and table column."""

    CYCLE = "cycle"
    BLOCK = "block"
    SYMBOL = "symbol"
    STUCK = "stuck"
    ENUMERATION = "enumeration"
    TRIGRAM = "trigram"
    CHAR = "char"
    CONTEXT = "context"
    PERIOD = "period"  # rule set `classic`
    COLLAPSE = "collapse"  # rule set `classic`
    TOKEN_CYCLE = "token_cycle"  # noqa: S105 - token ids repeat exactly
    TOKEN_LOOP = "token_loop"  # noqa: S105 - probability series of a loop
    RARE_TOKENS = "rare_tokens"
    GARBLE = "garble"
    UPSTREAM = "upstream"  # the upstream itself ended with a repetition finish reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The four public metrics of one text; thresholds > 0.6, > 0.35, > 0.85, >= 4."""

    trigram_repeat: float = 0.0
    char_repeat: float = 0.0
    context_sim: float = 0.0
    cycle_count: int = 0


THRESHOLDS = Metrics(trigram_repeat=0.6, char_repeat=0.35, context_sim=0.85, cycle_count=4)
"""The user's documents' own lines (SPEC 2.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the detector says of one text.

    `onset` is the first character that should not be shown; `start`/`end` span the repetition, first copy included.
    `fingerprint` is a 64-bit number of the least rotation of the primitive unit, equal on every replica.
    """

    health: Health = Health.CLEAN
    loop_class: LoopClass | None = None
    metrics: Metrics = Metrics()
    rules: tuple[Rule, ...] = ()
    unit: str = ""
    repeats: int = 0
    start: int = 0
    end: int = 0
    onset: int | None = None
    fingerprint: int | None = None
    profile: str = ""
    thresholds: Metrics = THRESHOLDS
    """The lines of the profile in force."""
    cost_us: float = 0.0
    """What judging took, in microseconds; 0 where no timer was handed in."""

    @property
    def degenerate(self) -> bool:
        return self.health is Health.DEGENERATE


CLEAN = Verdict()


class GateState(StrEnum):
    """What the stream gate does with text just now."""

    PASSING = "passing"
    HOLDING = "holding"
    SUPPRESSING = "suppressing"  # a loop runs; nothing is forwarded, only counted
    STOPPED = "stopped"  # confirmed and the mode says stop: the caller closes the upstream


class Release(NamedTuple):
    """Text that is now safe to send (in order, possibly empty), what the gate does, and what it knows.

    A tuple, not a dataclass as the other records: one is made for every event of every stream, at a third of the cost.
    """

    text: str
    state: GateState
    verdict: Verdict | None = None


def passing(text: str) -> Release:
    """The release of nearly every event."""
    return _new(Release, (text, GateState.PASSING, None))


_new = tuple.__new__

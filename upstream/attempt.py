"""One try at one model: what came back, what was wrong with it, and what the detector says."""

from dataclasses import dataclass
from typing import Any

import msgspec

from base.faults import Fault
from detector import GateMode
from detector.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens the upstream billed."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    """It never said; these are by rule of thumb (upstream/unbilled.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One finished try. `text` is the cleaned text; `body` the JSON of a whole answer, the model's own bytes where
    nothing in them was changed; `reply` the `{"error": ...}` by which a model refused the caller's own request.
    Times in seconds."""

    started_at: float
    elapsed_s: float
    first_text_s: float | None = None
    status: int | None = None
    fault: Fault | None = None
    detail: str = ""
    """For people and logs: never a secret, never the bad text."""
    retry_after_s: float | None = None
    text: str = ""
    raw_text: str = ""
    """What the model said before cleaning, kept for the redacted excerpt of a failed reply."""
    reply: dict[str, Any] | None = None
    body: bytes = b""
    finish_reason: str | None = None
    usage: Usage = Usage()
    served_model: str = ""
    system_fingerprint: str = ""
    """The vendor's mark of what runs behind the model's name; many give none."""
    verdict: Verdict | None = None
    suppressed_chars: int = 0
    held_chars: int = 0
    recoveries: int = 0
    """Loops inside this reply that ended by themselves; they were cleaned away."""
    detector_errors: int = 0
    guarded: bool = False
    """The reply was judged, not passed as it came."""
    trips: int = 0
    """Loops found in it, in any channel."""
    hold_s: float = 0.0
    """How long text was kept back that turned out to be fine."""
    hard_stop: bool = False
    """The stream was stuck: the gate ended it for a loop, at once or after long suppression (BREAKER.md, stuck streams)."""
    unread_s: float = 0.0
    """How long nobody took the next piece of a stream: the client's slowness, in the end."""
    stopped: GateMode | None = None
    """What the gate that ended it asks for: splice, cut, or retry while nothing was sent; None: it did not end it."""
    stream: bool = False

    @property
    def waited_for_reader(self) -> bool:
        """Whether a stream's time ran out for the most part while its client took nothing: no word on the model."""
        return self.fault is Fault.TIMEOUT_TOTAL and self.unread_s > self.elapsed_s / 2


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a stream, cleared for sending. `data` is the JSON payload of the event, original bytes where nothing changed.

    A Struct because one is made of every event: a frozen dataclass takes ten times as long to make.
    """

    data: bytes
    text: str = ""
    reasoning: str = ""
    tools: bool = False
    finish_reason: str | None = None
    usage: bool = False
    """The event carries what was billed."""

"""What can be wrong with one attempt at one model: the closed list, and what each means.

The same word is the log field, the metric label, the table column and the `code` a client may be told.
"""

from enum import StrEnum

from base.errors import Next, Whose


class Fault(StrEnum):
    # hard: the conversation itself failed
    CONNECT_FAILED = "connect_failed"
    TIMEOUT_CONNECT = "timeout_connect"
    TIMEOUT_FIRST_TEXT = "timeout_first_text"
    TIMEOUT_IDLE = "timeout_idle"
    TIMEOUT_TOTAL = "timeout_total"
    SERVER_ERROR = "server_error"
    BROKEN_STREAM = "broken_stream"
    GARBLED_PROTOCOL = "garbled_protocol"
    RATE_LIMITED = "rate_limited"
    FORBIDDEN = "forbidden"  # 401 402 403 404: our key or model name
    # the caller's own
    REJECTED = "rejected"
    CONTEXT_TOO_LONG = "context_too_long"
    ABANDONED = "abandoned"
    # ours
    ENDED_BY_US = "ended_by_us"  # our own shutdown, or a failure inside the router
    # soft: HTTP 200 and no use
    EMPTY = "empty_reply"
    REPETITION = "repetition_detected"
    GARBLE = "garble"
    INVALID_FORMAT = "invalid_format"
    REFUSAL = "refusal"
    LENGTH_IN_REASONING = "length_in_reasoning"

    @property
    def whose(self) -> Whose:
        if self in (Fault.REJECTED, Fault.CONTEXT_TOO_LONG, Fault.ABANDONED, Fault.LENGTH_IN_REASONING):
            return Whose.CALLER
        return Whose.OURS if self in (Fault.FORBIDDEN, Fault.ENDED_BY_US) else Whose.MODEL

    @property
    def next(self) -> Next:
        stops = (
            *(Fault.REJECTED, Fault.ABANDONED, Fault.ENDED_BY_US),
            *(Fault.REFUSAL, Fault.LENGTH_IN_REASONING),
        )
        return Next.STOP if self in stops else Next.NEXT_RUNG


TIMEOUTS = frozenset({Fault.TIMEOUT_CONNECT, Fault.TIMEOUT_FIRST_TEXT, Fault.TIMEOUT_IDLE, Fault.TIMEOUT_TOTAL})
HARD = TIMEOUTS | {Fault.CONNECT_FAILED, Fault.SERVER_ERROR, Fault.BROKEN_STREAM, Fault.GARBLED_PROTOCOL}
"""Timeouts, connect errors, 5xx and broken streams: the breaker's second kind of evidence (BREAKER.md)."""

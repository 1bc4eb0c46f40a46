"""What the router needs: a log of calls (store/), somebody to speak to models (upstream/), a guard (breaker/).

Every method of the log and of the guard is synchronous: it hands over and returns, no request waits on a store.

Posture when the store is gone: rows wait in a bounded queue, then are dropped and counted; the request goes on.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from base.faults import Fault
from base.feedback import FeedbackKind, FeedbackSource
from base.request_rows import BadReplyRow, RequestRow
from breaker.gray import Drawn
from breaker.levels import Level
from breaker.outcome import Outcome
from breaker.snapshot import Snapshot
from detector.verdict import Verdict
from upstream.attempt import Attempt, Piece
from upstream.call import Call, Endpoint, Timeouts
from upstream.stream import Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow(RequestRow):
    """One request as it is written: `attempts` as plain values."""

    attempts: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedReply(BadReplyRow):
    """A reply that failed, as it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request as feedback needs it: whose it was, when, and which model really answered (empty: a phrase)."""

    request_id: str
    app: str
    model: str
    route: str
    scene: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One person's word about one reply. `answered` None: not looked up yet, because SQL did not answer.

    `id` is drawn when it comes in, so that a batch written twice stays one row; `user_hash` stands for the person.
    """

    id: str
    request_id: str
    app: str
    user_hash: str
    at: float
    kind: FeedbackKind
    source: FeedbackSource
    note: str = ""
    answered: Answered | None = None


class FeedbackLog(Protocol):
    """What feedback is kept in. `add` hands over and returns; the others look up and raise StoreUnavailable."""

    def add(self, feedback: Feedback) -> None: ...

    async def answered(self, request_id: str) -> Answered | None: ...

    async def near(self, app: str, session: str, at: float, within_s: float) -> Answered | None:
        """The request of that session nearest to `at`, at most `within_s` away."""
        ...

    async def filed(self, app: str, user_hash: str, request_id: str) -> bool:
        """Whether that person has spoken of that reply before."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one worker let in of one app since it started, and how full it sees the app's buckets (router/limits.py)."""

    requests: int
    tokens: float
    requests_left: float
    tokens_left: float


class SpendStore(Protocol):
    """Where workers tell each other what their apps spent."""

    async def exchange(self, mine: Mapping[str, Spent]) -> Mapping[str, Mapping[str, Spent]]:
        """File ours, by app; return the others', by boot id and app. Raises StoreUnavailable."""
        ...


class CallLog(Protocol):
    def add_call(self, row: CallRow) -> None: ...
    def add_failed(self, row: FailedReply) -> None: ...


class ReplyStream(Protocol):
    """A streamed reply, cleared for sending piece by piece; faults end the iteration and stand in `attempt`."""

    @property
    def attempt(self) -> Attempt | None:
        """What it came to; known once the iteration or `aclose()` is over."""

    def __aiter__(self) -> AsyncIterator[Piece]: ...

    def pass_to(self, sink: Sink) -> None:
        """Once something was shown: pieces may go straight to `sink` as they are read, past the iteration."""

    async def aclose(self) -> None: ...


class SpanKind(StrEnum):
    SERVER = "server"  # the request itself
    CLIENT = "client"  # a call to a model


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRecord:
    """One finished span. Seconds since the epoch; `error` empty: it went well."""

    name: str
    kind: SpanKind
    begun_at: float
    ended_at: float
    attributes: Mapping[str, Any]
    error: str = ""


class Traces(Protocol):
    """Where spans go. Hands over and returns."""

    def told(self, spans: Sequence[SpanRecord], traceparent: str) -> None:
        """The spans of one request, its own first; `traceparent`: the client's header, may be empty."""
        ...


class Models(Protocol):
    """Speaks to models. Whatever goes wrong is in the Attempt; only cancellation is raised."""

    async def complete(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Attempt: ...

    def stream(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> ReplyStream: ...


class GraySplits(Protocol):
    """Gray releases under way, from memory."""

    def drawn(self, model: str, session: str) -> Drawn | None:
        """Who serves `session` in place of `model`, and the arm it counts under; None: no release concerns it."""


class Permit(Protocol):
    """The right to one judged call at a recovering model; left unsettled it is given back."""

    def settle(self, clean: bool) -> None: ...


class BreakerGuard(Protocol):
    """Where models stand, from memory; a model it does not know is HEALTHY."""

    def levels(self) -> Mapping[str, Level]: ...

    def snapshot(self, model: str) -> Snapshot: ...

    def permit(self, model: str, *, live: bool = False, shadow: bool = False) -> AbstractContextManager[Permit | None]:
        """A permit for one call to a RECOVERING model, or None.

        `shadow`: for a copy of a request that was answered; `live`: for a client's own request, the last resort.
        """

    def note(
        self,
        *,
        model: str,
        scene: str,
        endpoint: int,
        outcome: Outcome,
        fault: Fault | None,
        verdict: Verdict | None,
        stream: bool,
        session: str,
        tokens_in: int,
        tokens_out: int,
        elapsed_s: float,
        suppressed_chars: int,
        hard_stop: bool,
        arm: str = "",
        structured: bool = False,
        repaired: bool = False,
        unreadable: bool = False,
    ) -> None: ...

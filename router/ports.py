"""What the router needs kept. Fulfilled by store/; every method here is synchronous: it hands over and returns.

Posture when the store is gone: rows wait in a bounded queue, then are dropped and counted; the request goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One request, without its text."""

    request_id: str
    at: float
    app: str
    route: str
    scene: str
    session: str
    served_model: str
    fallback: str
    status: int
    code: str
    verdict: str
    loop_class: str
    attempts: tuple[Mapping[str, Any], ...]
    metrics: Mapping[str, float]
    stream: bool
    elapsed_ms: int
    first_text_ms: int | None
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedReply:
    """A redacted excerpt (<= 500 characters around the onset) of a reply that failed, and why."""

    request_id: str
    at: float
    model: str
    scene: str
    fault: str
    loop_class: str
    rules: tuple[str, ...]
    metrics: Mapping[str, float]
    fingerprint: str
    onset: int | None
    excerpt: str


class CallLog(Protocol):
    def add_call(self, row: CallRow) -> None: ...
    def add_failed(self, row: FailedReply) -> None: ...

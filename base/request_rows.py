"""What is kept of a request, and of a reply that failed: written by the router, read by the console.

The rooms never meet; each adds what only it knows (the attempts as they are written, or as they are read back).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """One request, without its text. Moments in seconds since the epoch, durations in milliseconds."""

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
    metrics: Mapping[str, float]
    stream: bool
    elapsed_ms: int
    first_text_ms: int | None
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BadReplyRow:
    """A redacted excerpt (<= 500 characters round the onset) of a reply that failed, and why.

    `onset`: where it went wrong in the whole reply, in code points.
    """

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

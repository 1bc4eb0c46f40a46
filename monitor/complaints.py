"""What people said of replies, as the monitor reads it: how many, how many people, and samples.

Filed by the router (POST /v1/feedback), bound to the model that really answered. A span is `[since, until)` in seconds
since the epoch; whoever thinks in days draws their borders in its own time zone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from base.feedback import FeedbackKind, FeedbackSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Complaints about one model in one span. `users`: distinct people, whatever number each of them filed."""

    model: str
    complaints: int
    users: int
    by_kind: Mapping[FeedbackKind, int]
    """Kinds that were filed; GOOD stands here too, and in neither of the sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One person's word about one reply. `at`: when it was filed; `asked_at`: when the reply was asked for.

    `user_hash` stands for the person (and the app); `note` is redacted.
    """

    id: str
    request_id: str
    model: str
    app: str
    user_hash: str
    at: float
    asked_at: float
    kind: FeedbackKind
    source: FeedbackSource
    route: str
    scene: str
    note: str


class Complaints(Protocol):
    """All methods raise breaker.ports.StoreUnavailable. What no model answered (phrases) is in none of them."""

    async def tallies(self, since: float, until: float) -> Sequence[Tally]:
        """One for each model that anybody spoke of, most distinct users first; by the moment of filing."""
        ...

    async def samples(self, model: str, since: float, until: float, limit: int = 20) -> Sequence[Complaint]:
        """Newest first, praise left out."""
        ...

"""What the console reads of requests and of the past: the call log, replies that failed, hours rolled up. Fulfilled by the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from base.request_rows import BadReplyRow, RequestRow


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
    """Which requests are looked for; empty fields ask for nothing. `trouble`: failed over, cut, or refused.

    `fallback`: what the user got: `none` a first reply, `error` an error in its place.
    """

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

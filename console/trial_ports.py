"""How a test prompt is sent through a route, and what is told of it. Fulfilled in pointsman/trial.py."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


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

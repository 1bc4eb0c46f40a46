"""Who really answers behind a model's name: a vendor's silent change is an event.

Decides; pure.  In:  versions known so far, versions seen in the last hour.  Out: the new ones of an endpoint that was
known before.  A vendor may have several at work at once (a fleet in the middle of an upgrade), so what counts is a
version never seen before, not one that differs from the last reply's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from monitor.alerts.alert import AlertKind
from monitor.watch import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What one endpoint said of itself. `asked`: the name we ask for; an operator who changes it starts a new story."""

    model: str
    endpoint: int
    asked: str
    served: str
    fingerprint: str = ""
    at: float = 0.0
    """When it was first seen."""

    @property
    def place(self) -> tuple[str, int, str]:
        return (self.model, self.endpoint, self.asked)

    @property
    def name(self) -> str:
        """For people: `gpt-4o-2024-08-06 (fp_44709d6fcb)`."""
        return f"{self.served} ({self.fingerprint})" if self.fingerprint else self.served


class VersionStore(Protocol):
    """All methods raise breaker.ports.StoreUnavailable."""

    async def seen(self, model: str, since: float, until: float, limit: int) -> Sequence[Version]:
        """Distinct versions among at most `limit` of the calls of that span, `asked` left empty; oldest first."""
        ...

    async def known(self, model: str) -> Sequence[Version]:
        """Oldest first."""
        ...

    async def keep(self, versions: Sequence[Version]) -> None:
        """Add what is new; of what is known, note that it was seen again."""
        ...


def changes(known: Iterable[Version], seen: Iterable[Version]) -> list[Version]:
    """The versions of `seen` that are new at a place where another was known; the first of a place is no change."""
    told = list(known)
    places = {version.place for version in told}
    have = {(*version.place, version.served, version.fingerprint) for version in told}
    new = []
    for version in seen:
        key = (*version.place, version.served, version.fingerprint)
        if key not in have and version.place in places:
            new.append(version)
        have.add(key)
        places.add(version.place)
    return new


def change_finding(version: Version, known: Iterable[Version], marked_s: float) -> Finding:
    """The event on the model's timeline, at the moment of the first reply that showed it.

    `was`: the version at that place that was found last before; `marked_s`: how long the model is marked.
    """
    before = [it for it in known if it.place == version.place]
    was = max(before, key=lambda it: it.at).name if before else ""
    return Finding(
        id=f"model_changed:{version.model}:{version.endpoint}:{version.name}"[:256],
        at=version.at,
        kind=AlertKind.MODEL_CHANGED,
        model=version.model,
        until=version.at + marked_s,
        facts={"endpoint": version.endpoint, "asked": version.asked, "was": was, "is": version.name},
    )

"""Two sets of rules over the same replies: what changes, scene by scene, and which of it is right where people said so.

Pure. Judging is the costly part, so each reply is judged once by each set and the rest is counting.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from monitor.replay.records import Stored
from monitor.replay.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One reply under both sets of rules. Kept without its text: a day's replies must fit into memory."""

    id: str
    at: float | None
    model: str
    scene: str
    truth: bool | None
    before: bool
    after: bool


@dataclass(slots=True, kw_only=True)
class SceneTally:
    """Counts of one scene; the last six only of replies that a person labelled."""

    replies: int = 0
    before: int = 0
    after: int = 0
    healthy: int = 0
    ill: int = 0
    false_before: int = 0
    false_after: int = 0
    missed_before: int = 0
    missed_after: int = 0

    def add(self, one: Outcome) -> None:
        self.replies += 1
        self.before += one.before
        self.after += one.after
        if one.truth is None:
            return
        self.healthy += not one.truth
        self.ill += one.truth
        self.false_before += one.before and not one.truth
        self.false_after += one.after and not one.truth
        self.missed_before += one.truth and not one.before
        self.missed_after += one.truth and not one.after


@dataclass(slots=True, kw_only=True)
class Replayed:
    """What came of a replay."""

    outcomes: list[Outcome] = field(default_factory=list)
    scenes: dict[str, SceneTally] = field(default_factory=dict)
    changed: list[tuple[Outcome, Stored]] = field(default_factory=list)
    """Replies whose verdict changes, the first `most` of them with their text."""
    newly: int = 0
    no_longer: int = 0

    @property
    def total(self) -> SceneTally:
        whole = SceneTally()
        for one in self.outcomes:
            whole.add(one)
        return whole


def judged(reply: Stored, before: Rules, after: Rules) -> Outcome:
    """One reply under both. Raises ValueError for a profile that nobody knows."""
    first = before.flags(reply)
    return Outcome(
        id=reply.id,
        at=reply.at,
        model=reply.model,
        scene=reply.scene,
        truth=reply.truth,
        before=first,
        after=first if after == before else after.flags(reply),
    )


def gathered(pairs: Iterable[tuple[Outcome, Stored]], most: int = 20) -> Replayed:
    """Count the outcomes; keep the text of the first `most` changes."""
    found = Replayed()
    for outcome, reply in pairs:
        found.outcomes.append(outcome)
        found.scenes.setdefault(outcome.scene, SceneTally()).add(outcome)
        if outcome.before != outcome.after:
            found.newly += outcome.after
            found.no_longer += outcome.before
            if len(found.changed) < most:
                found.changed.append((outcome, reply))
    return found


def by_scene(found: Replayed) -> Mapping[str, SceneTally]:
    """The scenes in order, the largest first."""
    return dict(sorted(found.scenes.items(), key=lambda entry: (-entry[1].replies, entry[0])))

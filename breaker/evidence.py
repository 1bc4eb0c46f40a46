"""Findings of others that may move a level: nightly runs, scenes, complaints, a replica's hard streak.

One id counts once; a record found before the watermark, or past `valid_until`, counts no more. Moments: server time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class EvidenceKind(StrEnum):
    NIGHTLY = "nightly"  # numbers: rate, baseline, chance, confirmed (1.0 after the re-run)
    SCENE = "scene"  # numbers: repeats, growth, chance, traffic (the scene's part of the model's traffic)
    COMPLAINTS = "complaints"  # numbers: users, chance
    HOURLY = "hourly"  # the abnormal flag: shown and alerted until it expires, moves no level
    HARD_IN_A_ROW = "hard_in_a_row"  # numbers: failures, quiet_s
    PROBES_WANTED = "probes_wanted"  # its sample is too small to judge and it looks ill: the monitor sends prompts
    OPEN_CAP = "open_cap"  # kept in service by max_open_ratio: counted once by the fleet
    DETECTOR_SUSPECT = "detector_suspect"  # of the whole fleet; numbers: until, models (breaker/fleet.py)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One finding about one model. Ratios and chances 0..1."""

    id: str
    kind: EvidenceKind
    model: str
    found_at: float
    valid_until: float
    numbers: tuple[tuple[str, float], ...] = ()
    scene: str = ""

    def number(self, name: str) -> float:
        return dict(self.numbers).get(name, 0.0)


PROBES_ASKED_EVERY_S = 60.0
"""Asked again so often while the sample stays too small."""


def probes_asked(model: str, slot: int, now_s: float) -> Evidence:
    """The record by which an evaluator asks the monitor for prompts; good until the one after the next slot."""
    return Evidence(
        id=f"probes:{slot}",
        kind=EvidenceKind.PROBES_WANTED,
        model=model,
        found_at=now_s,
        valid_until=(slot + 2) * PROBES_ASKED_EVERY_S,
    )


class EvidenceStore(Protocol):
    """Evidence records. Methods raise StoreUnavailable; without a store the counts alone decide."""

    async def add(self, evidence: Evidence) -> bool:
        """File one record; False when its id is already known for that model."""

    async def evidence(self, model: str) -> Sequence[Evidence]:
        """Records of the model that are still valid, oldest first."""

    async def evidence_of(self, models: Sequence[str]) -> Mapping[str, Sequence[Evidence]]:
        """What `evidence` gives, for several models in one question."""

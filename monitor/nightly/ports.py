"""What the nightly evaluation needs: somebody to speak to models, a place for runs, a door to the breaker.

Posture when the store is gone: results wait in memory and are written later; a run that cannot begin, or end, raises.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from breaker.evidence import Evidence
from monitor.nightly.records import Baseline, Result, Run, RunState
from upstream.attempt import Attempt
from upstream.call import Call, Endpoint, Timeouts


class Asks(Protocol):
    """Speaks to models by the code that live traffic uses. Raises nothing but cancellation."""

    async def complete(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Attempt: ...


class Runs(Protocol):
    """Runs, results, baselines. All methods raise breaker.ports.StoreUnavailable."""

    async def begin(self, run: Run) -> Run:
        """Keep the run, or return the one that is already kept under its id."""
        ...

    async def finish(self, run_id: str, state: RunState, at: float, detail: str = "") -> bool:
        """End a running run; False when it is ended already."""
        ...

    async def run(self, run_id: str) -> Run | None: ...

    async def runs(self, limit: int = 50) -> Sequence[Run]:
        """Newest first."""
        ...

    async def add(self, results: Sequence[Result]) -> None:
        """Keep results; one whose (run, model, prompt, round) is there already is skipped."""
        ...

    async def results(self, run_id: str) -> Sequence[Result]: ...

    async def pin(self, baseline: Baseline) -> Baseline:
        """Keep it as the newest version for its model, suite and detector; the record with that version."""
        ...

    async def baselines(self) -> Sequence[Baseline]:
        """The newest version for each model, suite and detector."""
        ...

    async def baseline(self, model: str, suite_version: str, detector_version: str) -> Baseline | None: ...


class Findings(Protocol):
    """The breaker's door for findings. Raises StoreUnavailable."""

    async def add(self, evidence: Evidence) -> bool: ...


class Reports(Protocol):
    """Daily reports as documents, by day. All methods raise StoreUnavailable."""

    async def keep(self, day: str, at: float, run_id: str, document: Mapping[str, Any]) -> None:
        """Keep it under its day; a later one of the same day takes its place."""
        ...

    async def report(self, day: str) -> Mapping[str, Any] | None: ...

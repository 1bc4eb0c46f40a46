"""What the monitor of one process has done since it started, counted for whoever watches the watcher.

Plain counters that only grow, handed to what does the work; what reads them is pointsman/monitor_metrics.py. They outlive a
reload of the settings, which builds everything else anew. Keys are words of closed lists and names of the settings.
"""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MonitorCounts:
    """One per process."""

    deliveries: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(channel, result) of every message that was tried."""
    notices: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(kind, why) of every message that was decided."""
    findings: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(kind, model, yes|no: told at once) of every new finding of the hourly watch."""
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(model, good|ill|unjudged) of every answer to a suite prompt."""
    job_runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(job, done|failed) of every run of a clock job."""

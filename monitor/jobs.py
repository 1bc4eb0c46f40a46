"""What runs by the clock, and which slot of it is to run now.

Decides; never reads a clock or a store.
In:  a Job, the newest of its slots that is known, the time.  Out: Due: the slot to run and how many were passed over.
Catch-up is bounded: of all slots missed the latest alone is run, and only while it is not older than `catch_up_s`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from monitor.cron import Cron


class RunState(StrEnum):
    KNOWN = "known"  # the job was first seen: earlier slots were nobody's duty
    ASKED = "asked"  # by hand, not begun
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"  # with `retry_at`: to be tried again then
    MISSED = "missed"  # too late to be made up for


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """One slot of one job. Moments are seconds since the epoch; `tries` counts how often it was begun."""

    job: str
    slot: str
    due_at: float
    owner: str
    fence: int
    state: RunState
    tries: int
    detail: str
    started_at: float
    ended_at: float | None = None
    retry_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a job's work is told. A slot that failed, or whose leader died, comes again with the next `attempt`."""

    job: str
    slot: str
    due_at: float
    attempt: int = 1
    fence: int = 0
    by_hand: bool = False


Work = Callable[[Run], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`work` may raise: the slot is tried again after `backoff_s`, twice that, …, at most `tries` times in all.

    Work that is cut short (lease lost, `limit_s` over) is cancelled, so it must be fit to be begun again.
    """

    name: str
    cron: Cron
    work: Work
    tries: int = 3
    backoff_s: float = 300.0
    limit_s: float = 4 * 3_600.0
    catch_up_s: float = 24 * 3_600.0

    def retry_at(self, run: Run, now_s: float) -> float | None:
        """When a slot whose `run` failed at `now_s` is tried again; None: never. What a person started is not."""
        if run.by_hand or run.attempt >= self.tries:
            return None
        return now_s + self.backoff_s * float(2 ** (run.attempt - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Idempotent work that the leader repeats every `every_s`; it has no slots and is not made up for.

    `work` is told the fence under which it is led: what it writes carries it, so that one who leads no longer is refused.
    """

    name: str
    every_s: float
    work: Callable[[int], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """The slot to run, or None where the latest is too old; `passed_over` earlier ones (that one included) never will."""

    at: float
    late: bool
    passed_over: int


def due(job: Job, since: float, now_s: float) -> Due | None:
    """What is due of a job whose newest known slot was due at `since`; None: nothing yet."""
    latest, count = job.cron.latest(since, now_s)
    if latest is None:
        return None
    late = now_s - latest > job.catch_up_s
    return Due(at=latest, late=late, passed_over=count if late else count - 1)

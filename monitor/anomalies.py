"""Models that more people complain of than chance explains: who is listed, and who leaves the list.

Decides; pure.  In:  distinct people who complained of a model in a day, what its last week would let expect.  Out: a
threshold, a chance, the next entry.  Source: BREAKER.md, Feedback: max(5 distinct users, Poisson p < .001); an entry
leaves after 3 clean days or by hand; one user alone never lists a model.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from breaker.policy import BreakerPolicy
from monitor.policy import FeedbackPolicy

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One model's stay on the list. `day` as `2026-01-31` in the monitor's zone; `left_at` 0.0 while it is listed."""

    id: str
    model: str
    day: str
    """The day it was listed for."""
    last_bad_day: str
    listed_at: float
    users: int
    """Distinct people of the worst day."""
    complaints: int
    threshold: int
    expected: float
    chance: float
    clean_days: int = 0
    closed_day: str = ""
    """The last day that was judged as a whole."""
    samples: tuple[Mapping[str, Any], ...] = ()
    left_at: float = 0.0
    left_why: str = ""
    left_by: str = ""

    @property
    def listed(self) -> bool:
        return not self.left_at


class AnomalyStore(Protocol):
    """All methods raise breaker.ports.StoreUnavailable."""

    async def listed(self) -> Sequence[Anomaly]:
        """Those on the list now, oldest first."""
        ...

    async def anomalies(self, model: str | None = None, limit: int = 100) -> Sequence[Anomaly]:
        """Newest first, those that left included."""
        ...

    async def keep(self, anomaly: Anomaly, *, new: bool) -> bool:
        """Write it. `new`: only if the model is not listed, nor was for that day; otherwise only while it still is.

        False: it was not so.
        """
        ...


def poisson_tail(at_least: int, mean: float) -> float:
    """P(X >= at_least) for X ~ Poisson(mean)."""
    if at_least <= 0:
        return 1.0
    if mean <= 0.0:
        return 0.0
    if at_least <= mean:
        below = math.fsum(_poisson(k, mean) for k in range(at_least))
        return max(0.0, 1.0 - below)
    # Summed from above, where the terms fall: 1 - P(below) would lose what is smaller than 1e-16.
    total, k = 0.0, at_least
    while (term := _poisson(k, mean)) > total * 1e-17 and k < at_least + 10_000:
        total, k = total + term, k + 1
    return min(1.0, total)


def _poisson(k: int, mean: float) -> float:
    return math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))


def threshold(expected: float, breaker: BreakerPolicy) -> int:
    """The least number of distinct people that lists a model which `expected` of them were to be expected of."""
    least = max(breaker.complaint_users, math.ceil(expected))
    while poisson_tail(least, expected) >= breaker.complaint_chance:
        least += 1
    return least


def expected_users(trailing_users: float, trailing_share: float, trailing_n: int, n: int) -> float:
    """How many people were to be expected, by the model's own last days.

    `trailing_share`: the span's part of those days; `n` of `trailing_n` replies: the same by traffic. The larger of
    both: a busy hour has more complaints, and a quiet one still hears of the busy one before.
    """
    by_traffic = trailing_users * n / trailing_n if trailing_n else 0.0
    return max(trailing_users * trailing_share, by_traffic)


def next_entry(
    here: Anomaly | None, *, model: str, day: str, users: int, complaints: int, expected: float,
    samples: Sequence[Mapping[str, Any]], breaker: BreakerPolicy, now_s: float,
) -> Anomaly | None:  # fmt: skip
    """The model's entry after `users` people complained on `day` (whole or so far); `here` itself when nothing changes."""
    line = threshold(expected, breaker)
    if users < line:
        return here
    chance = poisson_tail(users, expected)
    found = {"users": users, "complaints": complaints, "threshold": line, "expected": expected, "chance": chance}
    if here is None:
        return Anomaly(
            id=f"{model}:{day}"[:256], model=model, day=day, last_bad_day=day, listed_at=now_s, samples=tuple(samples),
            **found,  # type: ignore[arg-type]
        )  # fmt: skip
    worse = users > here.users
    if day == here.last_bad_day and not worse:
        return here
    if worse:
        here = replace(here, samples=tuple(samples), **found)  # type: ignore[arg-type]
    return replace(here, last_bad_day=day, clean_days=0)


def day_closed(here: Anomaly, day: str, replies: int, policy: FeedbackPolicy, now_s: float) -> Anomaly:
    """The entry after `day` is over; a day without a reply is no clean day, and one day counts once."""
    if day <= here.closed_day or day < here.day:
        return here
    here = replace(here, closed_day=day)
    if day == here.last_bad_day or not replies:
        return here
    here = replace(here, clean_days=here.clean_days + 1)
    if here.clean_days < policy.clean_days:
        return here
    return left(here, now_s, "clean", "monitor")


def left(here: Anomaly, now_s: float, why: str, by: str) -> Anomaly:
    """Off the list."""
    return replace(here, left_at=now_s, left_why=why, left_by=by)

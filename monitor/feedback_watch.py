"""The feedback loop: complaints → the anomaly list by day, and evidence for the breaker when they burst.

Acts: over what people said, the roll-ups, the list, the evidence and the desk; decisions are anomalies.py's.
In:  the leader's tick (bursts, and today so far) and the daily job (the day that ended).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from base.clock import Clock
from breaker.evidence import Evidence, EvidenceKind
from breaker.policy import BreakerPolicy
from breaker.ports import CountStore
from breaker.window import MINUTE_S
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.anomalies import DAY_S, Anomaly, AnomalyStore, day_closed, expected_users, left, next_entry, poisson_tail
from monitor.complaints import Complaint, Complaints
from monitor.cron import day_began, day_of
from monitor.jobs import Run
from monitor.policy import FeedbackPolicy
from monitor.ports import AlertDesk
from monitor.rollup import HOUR_S, RollupStore

TODAY_EVERY_S = 300.0
BURST_READ = 500
"""Complaints of one burst that are looked at one by one; more change nothing about it."""


class EvidenceBox(Protocol):
    """Raises breaker.ports.StoreUnavailable."""

    async def add(self, evidence: Evidence) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """More people complaining at once than the model's last week explains."""

    model: str
    users: int
    expected: float
    chance: float


class FeedbackWatch:
    """One per process; `tick` in the leader, `close_day` is the daily job."""

    def __init__(
        self,
        models: Sequence[str],
        complaints: Complaints,
        anomalies: AnomalyStore,
        hours: RollupStore,
        counts: CountStore,
        watermark: Callable[[str], float],
        evidence: EvidenceBox,
        desk: AlertDesk,
        breaker: BreakerPolicy,
        policy: FeedbackPolicy,
        clock: Clock,
        zone: ZoneInfo,
    ) -> None:
        """`watermark`: of each model the moment before which nothing counts against it any more."""
        self._models, self._complaints, self._anomalies = tuple(models), complaints, anomalies
        self._hours, self._counts, self._watermark = hours, counts, watermark
        self._evidence, self._desk, self._breaker, self._policy = evidence, desk, breaker, policy
        self._clock, self._zone = clock, zone
        self._today_at = float("-inf")
        self._bursting: dict[str, float] = {}
        self._standing = set(self._models)
        """Whose alert may be open; at the start any, for nobody knows what ended while nobody looked."""

    async def tick(self) -> None:
        """Bursts at once; the day so far every five minutes. Raises StoreUnavailable."""
        now_s = self._clock.now_s()
        await self._bursts(now_s)
        if now_s - self._today_at >= TODAY_EVERY_S:
            await self._day(day_began(now_s, self._zone), now_s)
            await self._tell(now_s)
            self._today_at = now_s

    async def close_day(self, run: Run) -> None:
        """Judge the day that ended before `run` was due, whoever saw what of it. Raises StoreUnavailable."""
        now_s = self._clock.now_s()
        began = day_began(day_began(run.due_at, self._zone) - 1.0, self._zone)
        ended = day_began(run.due_at, self._zone)
        await self._day(began, ended)
        day = day_of(began, self._zone)
        for entry in await self._anomalies.listed():
            replies = sum(
                row.counts.judged for row in await self._hours.hours(began, ended, model=entry.model, scope="")
            )
            closed = day_closed(entry, day, replies, self._policy, now_s)
            if closed is not entry:
                await self._anomalies.keep(closed, new=False)
        await self._tell(now_s)

    async def dismiss(self, model: str, actor: str, why: str) -> Anomaly | None:
        """Take a model off the list by hand; None: it is not on it. Raises StoreUnavailable."""
        for entry in await self._anomalies.listed():
            if entry.model == model:
                gone = left(entry, self._clock.now_s(), why, actor)
                return gone if await self._anomalies.keep(gone, new=False) else None
        return None

    # -- by day ---------------------------------------------------------------------------------------------------

    async def _day(self, began: float, until: float) -> None:
        listed = {entry.model: entry for entry in await self._anomalies.listed()}
        day = day_of(began, self._zone)
        for tally in await self._complaints.tallies(began, until):
            if tally.model not in self._models or tally.users < self._breaker.complaint_users:
                continue
            here = listed.get(tally.model)
            # What a whole day lets expect, also of a day that is young: it is looked at every five minutes.
            expected = await self._expected(tally.model, began, DAY_S, None)
            found = next_entry(
                here, model=tally.model, day=day, users=tally.users, complaints=tally.complaints, expected=expected,
                samples=await self._samples(tally.model, began, until), breaker=self._breaker, now_s=self._clock.now_s(),
            )  # fmt: skip
            if found is not None and found is not here:
                await self._anomalies.keep(found, new=here is None)

    async def _expected(self, model: str, before: float, span_s: float, replies: int | None) -> float:
        """What the days before `before` let expect of a span; `replies` of the span, None: read from the roll-ups."""
        days, users = self._policy.trailing_days, 0
        for back in range(1, days + 1):
            tallies = await self._complaints.tallies(before - back * DAY_S, before - (back - 1) * DAY_S)
            users += next((tally.users for tally in tallies if tally.model == model), 0)
        rows = await self._hours.hours(before - days * DAY_S, before + span_s, model=model, scope="")
        trailing = sum(row.counts.judged for row in rows if row.starts_at < before)
        if replies is None:
            replies = sum(row.counts.judged for row in rows if row.starts_at >= before)
        return expected_users(users, span_s / (days * DAY_S), trailing, replies)

    async def _samples(self, model: str, since: float, until: float) -> list[dict[str, Any]]:
        return [_shown(it) for it in await self._complaints.samples(model, since, until, self._policy.samples)]

    # -- bursts ---------------------------------------------------------------------------------------------------

    async def _bursts(self, now_s: float) -> None:
        since = now_s - self._policy.burst_s
        for tally in await self._complaints.tallies(since, now_s + 1.0):
            if tally.model not in self._models or tally.users < self._breaker.complaint_users:
                continue
            if (burst := await self._burst(tally.model, since, now_s)) is not None:
                await self._tell_burst(burst, now_s)
        for model, until in list(self._bursting.items()):
            if until <= now_s:
                del self._bursting[model]
                self._today_at = float("-inf")  # tell at once that it is over, or that the list is what remains

    async def _burst(self, model: str, since: float, now_s: float) -> Burst | None:
        # People speak of a model for hours after it was mended, and support files whole batches of yesterday's: only
        # replies of late, and of after the breaker last gave the model a clean slate, say how it is now.
        fresh = max(now_s - self._policy.burst_asked_s, self._watermark(model))
        said = await self._complaints.samples(model, since, now_s + 1.0, BURST_READ)
        users = len({it.user_hash for it in said if it.asked_at >= fresh})
        if users < self._breaker.complaint_users:
            return None
        last = int(now_s // MINUTE_S)
        rows = await self._counts.minutes(model, last - int(self._policy.burst_s // MINUTE_S), last)
        replies = sum(row.counts.judged for row in rows if row.scope == "")
        expected = await self._expected(model, since // HOUR_S * HOUR_S, self._policy.burst_s, replies)
        chance = poisson_tail(users, expected)
        if chance >= self._breaker.complaint_chance:
            return None
        return Burst(model=model, users=users, expected=expected, chance=chance)

    async def _tell_burst(self, burst: Burst, now_s: float) -> None:
        span_s = self._policy.burst_s
        await self._evidence.add(
            Evidence(
                # One finding a span, however often it is looked at.
                id=f"complaints:{burst.model}:{int(now_s // span_s)}",
                kind=EvidenceKind.COMPLAINTS,
                model=burst.model,
                found_at=now_s,
                valid_until=now_s + span_s,
                numbers=(("users", float(burst.users)), ("expected", burst.expected), ("chance", burst.chance)),
            )
        )
        self._bursting[burst.model] = now_s + span_s
        since = now_s - span_s
        facts = {
            "level": "burst", "users": burst.users, "expected": burst.expected, "chance": burst.chance, "span_s": span_s,
            **_said(await self._samples(burst.model, since, now_s + 1.0)),
        }  # fmt: skip
        await self._desk.fire(_alert(burst.model, Severity.CRITICAL, now_s, facts))
        self._standing.add(burst.model)

    # -- telling --------------------------------------------------------------------------------------------------

    async def _tell(self, now_s: float) -> None:
        """The list as people know it; a burst under way is told by itself and is not taken back here."""
        listed = {entry.model: entry for entry in await self._anomalies.listed()}
        for model in self._models:
            if model in self._bursting:
                continue
            if (entry := listed.get(model)) is not None:
                await self._desk.fire(_alert(model, Severity.WARN, now_s, _facts(entry)))
                self._standing.add(model)
            elif model in self._standing:
                await self._desk.resolve(_alert(model, Severity.WARN, now_s, {}))
                self._standing.discard(model)


def _facts(entry: Anomaly) -> dict[str, Any]:
    return {
        "level": "listed", "day": entry.day, "last_bad_day": entry.last_bad_day, "users": entry.users,
        "complaints": entry.complaints, "threshold": entry.threshold, "expected": entry.expected, "chance": entry.chance,
        **_said(entry.samples),
    }  # fmt: skip


def _said(samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The samples, and of them the words that stand in the message: of the newest complaint that has any."""
    return {"samples": list(samples), "sample": next((str(it["note"]) for it in samples if it.get("note")), "")}


def _alert(model: str, severity: Severity, at: float, facts: Mapping[str, Any]) -> Alert:
    return Alert(kind=AlertKind.COMPLAINTS, subject=model, severity=severity, at=at, model=model, facts=facts)


def _shown(it: Complaint) -> dict[str, Any]:
    """A sample as plain values: no person in it, the note is redacted already."""
    return {
        "request_id": it.request_id, "at": it.at, "asked_at": it.asked_at, "kind": it.kind.value,
        "source": it.source.value, "app": it.app, "route": it.route, "scene": it.scene, "note": it.note,
    }  # fmt: skip

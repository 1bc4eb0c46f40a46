"""Decides, again and again, what is to be told, and files it as letters to the channels.

The state is in the store alone, so that a restart or a second process in between changes nothing: whoever comes second
finds the group's number moved on and leaves it.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from base.clock import Clock
from breaker.policy import BreakerPolicy
from breaker.ports import Lease, StoreUnavailable
from monitor.alerts.alert import AlertKind
from monitor.alerts.decide import Notice, decide
from monitor.alerts.incident import Incident
from monitor.alerts.moves import looked_back_s
from monitor.alerts.mute import Window, muted
from monitor.alerts.policy import AlertPolicy
from monitor.alerts.ports import Dossier, Dossiers, NoticeBook
from monitor.alerts.routing import Routing
from monitor.counts import MonitorCounts

log = logging.getLogger(__name__)
LEASE_NAME = "alert-decide"
LEASE_S = 15.0
EVERY_S = 1.0
LEAST_REAL_S = 0.1
OVERLAP_S = 5.0
UNFILED_S = 10.0
"""A lock that is held for a moment is over by then, and the move is told with a number after all."""
KEPT_MEMBERS = 20
"""Members written out in one letter; the rest are counted."""
WITHOUT_REPLIES = frozenset({AlertKind.FORBIDDEN, AlertKind.MODEL_CHANGED, AlertKind.NIGHTLY})
"""Nothing of live traffic; a night brings samples of its own."""
NOT_OF_REPLIES = frozenset(
    {
        "operator",
        "force_expired",
        "hard_failures",
        "hard_in_a_row",
        "worse_hard",
        "no_data",
        "starved",
        "source_fails",
        "nightly",
    }
)
"""Reasons of moves and of gray releases that no reply gave."""
LOOK_BACK_S = 1_800.0
"""What is no move, or follows from one, is about all that failed from half an hour before it opened."""


class Notifier:
    """`run` until cancelled. `dossiers`: where samples come from; without it the messages go without."""

    def __init__(
        self,
        book: NoticeBook,
        lease: Lease,
        owner: str,
        routing: Routing,
        clock: Clock,
        policy: AlertPolicy | None = None,
        *,
        windows: Sequence[Window] = (),
        dossiers: Dossiers | None = None,
        breaker: BreakerPolicy | None = None,
        urgent: Callable[[float], Awaitable[int]] | None = None,
        unfiled: Callable[[], float | None] = lambda: None,
        counts: MonitorCounts | None = None,
    ) -> None:
        """`breaker`: whose windows say which replies led to a move. `urgent(since)` tells what moved after `since` while
        the store is away; `unfiled()`: since when moves wait that the store has not taken, though it may be read."""
        self._book, self._lease, self._owner, self._routing = book, lease, owner, routing
        self._clock, self._policy = clock, policy or AlertPolicy()
        self._windows, self._dossiers = tuple(windows), dossiers
        self._urgent, self._unfiled, self._answered_at = urgent, unfiled, clock.now_s()
        self._counts, self._breaker = counts or MonitorCounts(), breaker or BreakerPolicy()
        self.filed = 0

    async def run(self) -> None:
        while True:
            try:
                await self.round()
            except Exception:
                # One odd incident must not silence every later one.
                log.exception("alerts: a round failed")
            # Under compressed time a second may shrink to nothing; the loop must not then eat the processor.
            await self._clock.sleep(max(EVERY_S, self._real(LEAST_REAL_S)))

    async def round(self) -> None:
        """What is due, told through the store, or around it while that is away or takes nothing."""
        try:
            await self.once()
        except StoreUnavailable:
            await self._without_store(self._answered_at)
            return
        now_s, waits_since = self._clock.now_s(), self._unfiled()
        if waits_since is None:
            self._answered_at = now_s
        elif now_s - waits_since >= self._real(UNFILED_S):
            await self._without_store(waits_since)

    async def _without_store(self, since: float) -> None:
        log.warning("alerts wait: the store does not answer, or takes nothing")
        if self._urgent is not None:
            try:
                # A little earlier: what moved just before the store fell silent may not have been told either.
                await self._urgent(min(since, self._answered_at) - OVERLAP_S)
            except Exception:
                log.exception("alerts: the store is away, and so is the other way")

    async def _may_decide(self) -> bool:
        """Whether it is this process's turn. The lease only spares work: while it cannot be asked all go on, and the
        group's number still lets one alone file."""
        try:
            return await self._lease.hold(LEASE_NAME, self._owner, self._real(LEASE_S)) is not None
        except StoreUnavailable:
            return True

    def _real(self, seconds: float) -> float:
        """So long on the wall, in seconds of our clock."""
        return seconds / self._clock.real_s(1.0)

    async def once(self) -> int:
        """File what is due now; how many notices. Raises StoreUnavailable."""
        if not await self._may_decide():
            return 0
        # The groups first: whoever tells an incident counts its group on in the same transaction, so an incident that is
        # read as untold after another told it comes with a group's number that no longer stands.
        groups = await self._book.groups()
        waiting = await self._book.waiting()
        if not waiting:
            return 0
        now_s = self._clock.now_s()
        mutes = muted(waiting, await self._book.silences(now_s), self._windows, self._clock.real_s(now_s))
        decision = decide(waiting, groups, mutes, self._policy, now_s)
        await self._book.settle(decision.quiet)
        filed = 0
        for notice in decision.notices:
            if await self._book.file(notice, self._routing.channels(notice), await self._body(notice)):
                filed += 1
                self._counts.notices[notice.lead.kind.value, notice.why.value] += 1
        self.filed += filed
        return filed

    async def _body(self, notice: Notice) -> Mapping[str, Any]:
        lead, dossier = notice.lead, Dossier()
        if self._dossiers is not None and lead.model and of_replies(lead.kind, lead.facts):
            dossier = await self._dossiers.about(lead.model, *about(lead, self._breaker))
        return body_of(notice, dossier)


def about(lead: Incident, policy: BreakerPolicy) -> tuple[float, float]:
    """From when to when the replies failed that it is about: those that led to its newest move, else all of it."""
    reasons = lead.facts.get("reasons") or ()
    looked_s = looked_back_s(reasons, policy) if lead.kind is AlertKind.TRANSITION and lead.firing else None
    since = lead.opened_at - LOOK_BACK_S if looked_s is None else lead.updated_at - looked_s
    return since, lead.updated_at


def of_replies(kind: AlertKind, facts: Mapping[str, Any]) -> bool:
    """Whether failed replies are what the alert is about: a refused key, a hand or hard failures are shown no loops, which
    would be those of another trouble, perhaps of one that is long over."""
    if kind is AlertKind.GRAY:
        return facts.get("reason") not in NOT_OF_REPLIES
    given = facts.get("reasons") or ()
    return kind not in WITHOUT_REPLIES and not (given and NOT_OF_REPLIES.issuperset(given))


def body_of(notice: Notice, dossier: Dossier | None = None) -> Mapping[str, Any]:
    """The notice as plain JSON: what the templates are given, and what the console shows of a delivery."""
    body: Mapping[str, Any] = msgspec.to_builtins(
        {
            "id": notice.id,
            "why": notice.why,
            "at": notice.at,
            "severity": notice.severity,
            "step": notice.step,
            "held": notice.held,
            "lead": notice.lead,
            "firing": notice.firing[:KEPT_MEMBERS],
            "over": notice.over[:KEPT_MEMBERS],
            "firing_count": len(notice.firing),
            "over_count": len(notice.over),
            "dossier": dossier or Dossier(),
        }
    )
    return body

"""What is told now: which incidents, together with which others, and why.

Decides over records; never reads a clock, a store or a socket.
In:  incidents that are not settled, what each group was last told, what is muted, the policy, now.
Out: Notices (one message each, to every channel it is routed to) and the incidents that end without a word.

Alertmanager's ideas (ALERTS.md): one group per (model, kind) waits a little so that what belongs together comes together;
then it is told of a new member, a changed stage, an end, an escalation, a repeat. Only what was announced is resolved.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from monitor.alerts.alert import AlertKind, Severity
from monitor.alerts.incident import RANKS, Incident
from monitor.alerts.mute import Muted
from monitor.alerts.policy import AlertPolicy

LAST_STEP = 3
"""Escalation: 1 mentions who is on call, 2 takes the second channel as well, 3 calls everybody."""
AT_ONCE = frozenset({AlertKind.TEST, AlertKind.HEARTBEAT, AlertKind.DAILY_REPORT})
"""Come alone by nature: nothing is gained by waiting for others of their group."""


class Why(StrEnum):
    FIRST = "first"
    NEW_MEMBER = "new_member"
    CHANGED = "changed"
    RESOLVED = "resolved"
    ESCALATED = "escalated"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What was last told about a (model, kind): the number of its messages and when the last was filed."""

    key: str
    seq: int = 0
    last_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One message to be. `firing` and `over` are the members as they are told; `held`: muted ones of the same model."""

    group: Group
    why: Why
    at: float
    firing: tuple[Incident, ...] = ()
    over: tuple[Incident, ...] = ()
    held: int = 0

    @property
    def id(self) -> str:
        """Unique: two senders that decide the same at once file it under one name."""
        return f"{self.group.key}#{self.group.seq + 1}"

    @property
    def lead(self) -> Incident:
        """The member the message is about: the gravest, of those the longest open."""
        return min(self.firing or self.over, key=lambda one: (-RANKS[one.severity], one.opened_at, one.id))

    @property
    def severity(self) -> Severity:
        """An end never wakes anybody, however grave the trouble was."""
        return self.lead.severity if self.firing else Severity.INFO

    @property
    def step(self) -> int:
        """How far it has escalated."""
        return max((one.escalation for one in self.firing), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`quiet`: resolved before anybody was told; they are settled without a word."""

    notices: tuple[Notice, ...] = ()
    quiet: tuple[Incident, ...] = ()


def group_key(here: Incident) -> str:
    return f"{here.model}|{here.kind}"


def decide(
    incidents: Sequence[Incident],
    groups: Mapping[str, Group],
    mutes: Mapping[int, Muted],
    policy: AlertPolicy,
    now_s: float,
) -> Decision:
    """`incidents` are those not settled; `mutes` by incident id. Returns what is due at `now_s`."""
    waiting = [one for one in incidents if not one.settled]
    quiet = tuple(one for one in waiting if not one.moment and not one.firing and not one.announced)
    silent = {one.id for one in quiet}
    by_group: dict[str, list[Incident]] = {}
    for one in waiting:
        if one.id not in silent:
            by_group.setdefault(group_key(one), []).append(one)
    notices = []
    for key, members in sorted(by_group.items()):
        notice = _of_group(groups.get(key, Group(key=key)), members, mutes, policy, now_s)
        if notice is not None:
            model = members[0].model
            held = sum(
                1 for one in waiting if model and one.model == model and mutes.get(one.id) is Muted.BY_OPEN_MODEL
            )
            notices.append(replace(notice, held=held if notice.firing else 0))
    return Decision(notices=tuple(notices), quiet=quiet)


def _of_group(
    group: Group, members: Iterable[Incident], mutes: Mapping[int, Muted], policy: AlertPolicy, now_s: float
) -> Notice | None:
    members = list(members)
    audible = [one for one in members if (one.firing or one.moment) and one.id not in mutes]
    over = [one for one in members if not one.firing and not one.moment]  # announced: the others ended quietly
    new = [one for one in audible if not one.announced]
    changed = [one for one in audible if one.announced and _moved(one)]
    stepping = {one.id for one in audible if _escalates(one, policy, now_s)}
    active = any(one.announced for one in members)
    if new or changed or over:
        urgent = any(_urgent(one) for one in (*new, *changed))
        due_at = group.last_at + policy.group_interval_s
        if not active:
            due_at = min(one.opened_at for one in new) + policy.group_wait_s
        if not urgent and now_s < due_at and not stepping:
            return None
        why = Why.CHANGED if changed else Why.RESOLVED
        if new:
            why = Why.NEW_MEMBER if active else Why.FIRST
    elif stepping:
        why = Why.ESCALATED
    elif now_s >= group.last_at + policy.repeat_s and any(_repeats(one) for one in audible):
        why = Why.REPEAT
        audible = [one for one in audible if _repeats(one)]
    else:
        return None
    firing = tuple(_step(one, now_s) if one.id in stepping else one for one in audible)
    return Notice(group=group, why=why, at=now_s, firing=firing, over=tuple(over))


def told(here: Incident, now_s: float) -> Incident:
    """The incident once its present revision was filed to be told at `now_s`."""
    grave = here.firing and here.severity is Severity.CRITICAL
    return replace(
        here,
        told_revision=here.revision,
        told_at=now_s,
        told_stage=here.stage,
        told_severity=here.severity,
        # From here the ten minutes run that somebody has to take it.
        escalated_at=now_s if grave and here.escalated_at is None else here.escalated_at,
        settled=not here.firing,
    )


def _step(here: Incident, now_s: float) -> Incident:
    return replace(here, escalation=here.escalation + 1, escalated_at=now_s)


def _moved(here: Incident) -> bool:
    return (here.stage, here.severity) != (here.told_stage, here.told_severity)


def _urgent(here: Incident) -> bool:
    """CRITICAL and not yet told as such, or one that comes alone anyway."""
    return here.kind in AT_ONCE or (here.severity is Severity.CRITICAL and here.told_severity is not Severity.CRITICAL)


def _repeats(here: Incident) -> bool:
    return here.announced and here.firing and here.acked_at is None and here.severity is not Severity.INFO


def _escalates(here: Incident, policy: AlertPolicy, now_s: float) -> bool:
    grave = here.firing and here.announced and here.told_severity is here.severity is Severity.CRITICAL
    if not grave or here.acked_at is not None or here.escalation >= LAST_STEP or here.escalated_at is None:
        return False
    return now_s >= here.escalated_at + policy.escalate_after_s

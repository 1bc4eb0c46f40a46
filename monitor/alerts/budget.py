"""Which letters go out now, which wait, and which go as one: the budget of each robot.

Decides over records. In: letters that are due, posts of the last minute, the robots' states. Out: Errands, in order.
ALERTS.md: 15 messages a minute and robot for the whole fleet, 5 of them kept for CRITICAL; overflow becomes one digest,
of what is grave as well: of the twentieth model that opens people hear in the same minute.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.alerts.alert import Severity
from monitor.alerts.policy import AlertPolicy
from monitor.alerts.ports import Letter, Robot

MINUTE_S = 60.0
NO_ROBOT = Robot(channel="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One message to one robot. Several letters: they go as one digest."""

    channel: str
    letters: tuple[Letter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`blocked`: their robot rests or refuses us; another channel may tell them. Letters in neither wait for the budget."""

    errands: tuple[Errand, ...] = ()
    blocked: tuple[Letter, ...] = ()


def plan(
    letters: Sequence[Letter],
    posts: Mapping[str, int],
    robots: Mapping[str, Robot],
    policy: AlertPolicy,
    now_s: float,
) -> Plan:
    """What to do at `now_s`. A broken robot is tried with one letter now and then, and with no more."""
    by_channel: dict[str, list[Letter]] = {}
    for letter in letters:
        by_channel.setdefault(letter.channel, []).append(letter)
    errands: list[Errand] = []
    blocked: list[Letter] = []
    for channel, owed in by_channel.items():
        robot = robots.get(channel, NO_ROBOT)
        if now_s < robot.rest_until:
            blocked += owed
        elif robot.broken_at is not None:
            probing = now_s >= robot.tried_at + policy.robot_retry_s
            errands += [Errand(channel=channel, letters=(owed[0],))] if probing else []
            blocked += owed[1:] if probing else owed
        else:
            errands += _within(channel, owed, posts.get(channel, 0), policy)
    grave_first = sorted(errands, key=lambda errand: not any(_grave(letter) for letter in errand.letters))
    return Plan(errands=tuple(grave_first), blocked=tuple(blocked))


def _within(channel: str, owed: Sequence[Letter], used: int, policy: AlertPolicy) -> list[Errand]:
    grave, common = [one for one in owed if _grave(one)], [one for one in owed if not _grave(one)]
    first = _batches(channel, grave, policy.budget_per_min - used)
    room = policy.budget_per_min - policy.budget_reserved - used - len(first)
    return first + _batches(channel, common, room)


def _batches(channel: str, letters: Sequence[Letter], room: int) -> list[Errand]:
    """Each by itself while there is room; the last message takes all that are left."""
    alone = len(letters) if len(letters) <= room else max(0, room - 1)
    errands = [Errand(channel=channel, letters=(letter,)) for letter in letters[:alone]]
    if alone < len(letters) and room > 0:
        errands.append(Errand(channel=channel, letters=tuple(letters[alone:])))
    return errands


def _grave(letter: Letter) -> bool:
    return letter.severity is Severity.CRITICAL

"""Which channels a notice goes to.

In:  rules in the order of the file, the channels, a Notice.  Out: channel names. Decides; touches nothing.
The first rule that matches says it; without any rule everything goes to every channel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from monitor.alerts.alert import AlertKind, Severity
from monitor.alerts.decide import Notice
from monitor.alerts.incident import RANKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An empty field matches everything; `models` are globs. `channels` may be empty: not told at all, only shown."""

    kinds: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()

    def matches(self, kind: str, model: str, severity: str) -> bool:
        named = not self.models or any(fnmatchcase(model, pattern) for pattern in self.models)
        return named and (not self.kinds or kind in self.kinds) and (not self.severities or severity in self.severities)


class Routing:
    """`backups`: who stands in for whom; a channel without an entry is backed by the next one of the list."""

    def __init__(
        self, channels: Sequence[str], rules: Sequence[Rule] = (), backups: Mapping[str, str] | None = None
    ) -> None:
        self._channels, self._rules, self._backups = tuple(channels), tuple(rules), dict(backups or {})

    def channels(self, notice: Notice) -> tuple[str, ...]:
        """Where it goes, each name once. A broken robot is not told of itself; step 2 takes the second channel too."""
        lead, severity = notice.lead, _severity(notice)
        first = next((r.channels for r in self._rules if r.matches(lead.kind, lead.model, severity)), self._channels)
        names = [name for name in first if name in self._channels]
        if lead.kind is AlertKind.ROBOT_BROKEN:
            names = [name for name in names if name != lead.subject] or [
                name for name in self._channels if name != lead.subject
            ]
        if notice.step >= 2:
            names += [backup for name in names if (backup := self.backup(name)) is not None]
        return tuple(dict.fromkeys(names))

    def backup(self, name: str) -> str | None:
        """Who tells it when `name` cannot."""
        if (given := self._backups.get(name)) in self._channels:
            return given
        if name not in self._channels or len(self._channels) < 2:
            return None
        return self._channels[(self._channels.index(name) + 1) % len(self._channels)]


def _severity(notice: Notice) -> Severity:
    """The gravest that any member has; of what is over, the gravest it ever had: who heard of it hears of its end."""
    found = [one.severity for one in notice.firing] + [one.peak_severity for one in notice.over]
    return max(found, key=RANKS.__getitem__)

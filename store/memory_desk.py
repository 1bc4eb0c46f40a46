"""The alert desk kept in this process: for tests, and to see what a room would have told."""

from dataclasses import replace

from monitor.alerts.alert import Alert
from monitor.alerts.incident import Change, Incident, fired, resolved
from monitor.ports import AlertDesk


class MemoryDesk:
    """Same rules as the SQL desk. `fired` and `resolved` list what was handed in; `incidents` what became of it."""

    def __init__(self) -> None:
        self.fired: list[Alert] = []
        self.resolved: list[Alert] = []
        self.incidents: list[Incident] = []

    @property
    def open(self) -> list[Incident]:
        return [one for one in self.incidents if one.firing]

    async def fire(self, alert: Alert) -> None:
        self.fired.append(alert)
        if alert.moment:
            end = replace(alert, moment=False)
            self._keep(end, resolved(self._find(end), end))
        over = [i for i in self.incidents if i.key == alert.key and not i.moment and (i.resolved_at or 0.0) >= alert.at]
        if alert.passes or not over:
            self._keep(alert, fired(self._find(alert), alert))

    async def resolve(self, alert: Alert) -> None:
        self.resolved.append(alert)
        self._keep(alert, resolved(self._find(alert), alert))

    def _find(self, alert: Alert) -> Incident | None:
        wanted = f"{alert.key}@{alert.at:.3f}" if alert.passes else alert.key
        return next((one for one in self.incidents if one.open_key == wanted), None)

    def _keep(self, alert: Alert, change: Change | None) -> None:
        if change is None:
            return
        here = self._find(alert)
        if here is None:
            self.incidents.append(change.incident)
        else:
            self.incidents[self.incidents.index(here)] = change.incident


_desk: type[AlertDesk] = MemoryDesk

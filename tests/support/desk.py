"""A desk that remembers what it was told, and can be away."""

from breaker.ports import StoreUnavailable
from monitor.alerts.alert import Alert


class Desk:
    """`open`: alerts that were fired and not resolved, by key; `told`: all calls in order."""

    def __init__(self) -> None:
        self.open: dict[str, Alert] = {}
        self.told: list[tuple[str, Alert]] = []
        self.away = False

    async def fire(self, alert: Alert) -> None:
        self._take("fire", alert)
        self.open[alert.key] = alert

    async def resolve(self, alert: Alert) -> None:
        self._take("resolve", alert)
        self.open.pop(alert.key, None)

    def _take(self, what: str, alert: Alert) -> None:
        if self.away:
            raise StoreUnavailable("the desk is away")
        self.told.append((what, alert))

"""The operators' switches as the request path knows them: from memory, replaced by a poll.

Posture when the store is gone: the last known switches hold until they are over.
"""

from collections.abc import Iterable

from base.switch import Switch, SwitchMode, holding, in_force


class Switchboard:
    """One per worker."""

    def __init__(self, switches: Iterable[Switch] = ()) -> None:
        self._switches = tuple(switches)

    def replace(self, switches: Iterable[Switch]) -> None:
        self._switches = tuple(switches)

    def mode(self, route: str, now_s: float) -> SwitchMode:
        """What holds for `route` now. Costs next to nothing while no switch is set."""
        return in_force(self._switches, route, now_s) if self._switches else SwitchMode.NORMAL

    def until(self, route: str, now_s: float) -> float:
        """When what holds for `route` ends; `now_s`: nothing holds."""
        switch = holding(self._switches, route, now_s)
        return switch.until if switch is not None else now_s

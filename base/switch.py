"""An operator's switch over one route or the whole fleet: what is meanwhile not done, until when, and who said so."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

FLEET = ""
"""The route of a switch that holds for all routes."""


class SwitchMode(StrEnum):
    NORMAL = "normal"
    OBSERVE = "observe"  # replies are judged and counted apart; nothing is held, cut or retried for it
    BYPASS = "bypass"  # replies are not judged at all
    PHRASE_ONLY = "phrase_only"  # no model is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """`until`: seconds since the epoch on the fleet's time; a switch that is over is as good as NORMAL."""

    route: str
    mode: SwitchMode
    until: float
    actor: str
    reason: str
    set_at: float

    def holds(self, now_s: float) -> bool:
        return self.mode is not SwitchMode.NORMAL and now_s < self.until


def in_force(switches: Iterable[Switch], route: str, now_s: float) -> SwitchMode:
    """What holds for `route`: its own switch before the fleet's, since whoever set it looked closer."""
    switch = holding(switches, route, now_s)
    return switch.mode if switch is not None else SwitchMode.NORMAL


def holding(switches: Iterable[Switch], route: str, now_s: float) -> Switch | None:
    """The switch that says what holds for `route`; None: none does."""
    by_route = {switch.route: switch for switch in switches if switch.holds(now_s)}
    return by_route.get(route) or by_route.get(FLEET)

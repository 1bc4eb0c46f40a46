"""Joins the operators' switches to a service: followed once a second, set through the store."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from base.clock import Clock, SystemClock
from base.switch import Switch
from breaker.ports import StoreUnavailable
from console.switch_ports import Switches
from router.deps import Deps
from router.switchboard import Switchboard
from store.redis_switches import RedisSwitches

FOLLOW_S = 1.0


async def follow_switches(board: Switchboard, store: RedisSwitches, clock: Clock) -> None:
    """Keep `board` as the store says, until cancelled. Runs in a task of its own."""
    known: dict[str, Switch] = {}
    while True:
        with contextlib.suppress(StoreUnavailable):
            await follow_once(board, store, clock.now_s(), known)
        await SystemClock().sleep(FOLLOW_S)


async def follow_once(board: Switchboard, store: RedisSwitches, now_s: float, known: dict[str, Switch]) -> None:
    """One look; `known` is what was seen before. Raises StoreUnavailable."""
    kept = {switch.route: switch for switch in await store.load()}
    for route, switch in known.items():
        # A switch that ends says so in its place; one that is missing was lost by the store (flushed, restarted).
        if route not in kept and switch.holds(now_s):
            await store.put_back(switch)
            kept[route] = switch
    known.clear()
    known.update(kept)
    board.replace(switch for switch in kept.values() if switch.holds(now_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSwitches:
    """The console's view of them."""

    store: RedisSwitches
    deps: Deps
    clock: Clock

    def routes(self) -> Sequence[str]:
        return tuple(self.deps.topology.routes)

    def now_s(self) -> float:
        return self.clock.now_s()

    async def switches(self) -> Sequence[Switch]:
        now_s = self.now_s()
        return [switch for switch in await self.store.load() if switch.holds(now_s)]

    async def set(self, switch: Switch) -> None:
        await self.store.put(switch)


_switches: type[Switches] = FleetSwitches

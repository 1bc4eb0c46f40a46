"""Joins the clock's room and the operators' room to a service, by role; and the doors they are reached by.

What only they need is imported with them (pointsman/operators.py).
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from breaker.ports import StoreUnavailable
from monitor.alerts.policy import SENDER_LEASE
from pointsman.admin_token import WeakToken, admin_hashes
from pointsman.assemble import Service, StartError
from pointsman.reload import Reloads
from pointsman.serve import CLIENTS, OPERATORS, Door, listen, serve
from router.spend import share_spend
from store.redis_spend import RedisSpend

HEARTBEAT_S = 5.0


class Role(StrEnum):
    """What one process does. A fleet has several routers and one or more monitors, of which one leads."""

    ALL = "all"
    ROUTER = "router"
    MONITOR = "monitor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """All doors of one service, open."""

    service: Service
    doors: tuple[Door, ...]
    new_token: str | None = None
    """The first admin token, if it was just made: shown once, then only its hash is known."""
    reloads: Reloads

    @property
    def urls(self) -> list[str]:
        return [door.url for door in self.doors]

    async def serve(self, stop: asyncio.Event | None = None) -> None:
        """Until a signal comes or `stop` is set; then drain."""
        await serve(self.service, self.doors, stop, self.reloads.reload_here)


async def doors_of(
    service: Service, role: Role = Role.ALL, *, taken: Sequence[socket.socket] = (), file: Path | None = None
) -> Doors:
    """Listen on what `role` needs and start what it runs by the clock. Raises StartError.

    `taken`: sockets that listen already, the clients' first; `file`: what a reload reads, None: there is nothing to reload.
    """
    open_already = iter(taken)
    doors, token, operators = [], None, None
    if role is not Role.MONITOR:
        sock = next(open_already, None) or listen(service.settings.address())
        doors.append(Door(app=service.app, socket=sock, what=CLIENTS))
        service.data_door = doors[0].url
        deps, spend = service.deps, RedisSpend(service.link, service.clock, service.boot_id)
        service.background(share_spend(deps.limits, deps.load, spend, service.clock), "limits")
    if role is Role.ROUTER:
        service.background(_follow_heartbeat(service), "monitor heartbeat")
        reloads = Reloads(service, role.value, file, os.environ)
    else:
        from pointsman.doorkeeper import HeldTokens
        from pointsman.one_port import OnePort
        from pointsman.operators import Operators

        try:
            hashes, token = admin_hashes(service.settings.data_dir, os.environ)
        except WeakToken as error:
            raise StartError(str(error)) from error
        operators = Operators(service, HeldTokens(hashes))
        reloads = Reloads(service, role.value, file, os.environ, operators.start)
        operators.configuration = reloads
        if doors and service.settings.console.on_data_port:
            one = OnePort(service.app, operators, lambda: service.settings.console)
            what = f"{CLIENTS} and, below {service.settings.console.prefix}, {OPERATORS}"
            doors[0] = Door(app=one, socket=doors[0].socket, what=what)
        sock = next(open_already, None) or listen(service.settings.address(admin=True))
        doors.append(Door(app=operators, socket=sock, what=OPERATORS))
        await operators.start()
    service.background(reloads.follow(), "settings")
    return Doors(service=service, doors=tuple(doors), new_token=token, reloads=reloads)


async def _follow_heartbeat(service: Service) -> None:
    """A router leaves the first permits to the monitor while one is alive."""
    while True:
        with contextlib.suppress(StoreUnavailable):
            if await service.lease.held(SENDER_LEASE):
                service.guard.monitor_beat()
        await service.clock.sleep(HEARTBEAT_S)

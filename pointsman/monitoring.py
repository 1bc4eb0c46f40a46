"""Joins the clock's room and the operators' room to a service, by role; and the doors they are reached by."""

from dataclasses import dataclass
from enum import StrEnum

from pointsman.assemble import Service
from pointsman.serve import Door, listen, serve


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

    @property
    def urls(self) -> list[str]:
        return [door.url for door in self.doors]

    async def serve(self) -> None:
        await serve(self.service, self.doors)


async def doors_of(service: Service, role: Role = Role.ALL) -> Doors:
    """Listen on what `role` needs. Raises StartError."""
    doors = []
    if role is not Role.MONITOR:
        doors.append(Door(app=service.app, socket=listen(service.settings.address())))
    return Doors(service=service, doors=tuple(doors))

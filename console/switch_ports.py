"""The switches over routes and the fleet, for operators. Fulfilled in pointsman/switchwork.py."""

from collections.abc import Sequence
from typing import Protocol

from base.switch import Switch


class Switches(Protocol):
    def routes(self) -> Sequence[str]:
        """The routes there are."""
        ...

    def now_s(self) -> float: ...

    async def switches(self) -> Sequence[Switch]:
        """Those in force; base.switch.FLEET ("") is the route of one that holds for all. Raises StoreUnavailable."""
        ...

    async def set(self, switch: Switch) -> None:
        """In force on every router within about a second. Raises StoreUnavailable: then nothing has changed."""
        ...

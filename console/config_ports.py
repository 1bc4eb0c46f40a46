"""What operators see of the settings in force, and how new ones are taken. Fulfilled in pointsman/reload.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The settings in force in this process. `text` is YAML with every secret masked; `hash` also moves with a secret.

    `restart_needed`: keys that the file has changed and that only a restart takes; `mistakes`: why the last reload was
    refused, empty when it was taken.
    """

    hash: str
    since: float
    file: str
    text: str
    restart_needed: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessConfig:
    """What one process of the fleet runs on, as it last said. `at`: when it said so."""

    boot_id: str
    role: str
    hash: str
    at: float
    mistakes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """What came of a reload. `changed`: top-level keys taken; `mistakes` not empty: refused, the old ones stay."""

    hash: str
    changed: tuple[str, ...] = ()
    restart_needed: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDisk:
    """The file as it is now: its settings as YAML with every secret masked, or what is wrong with it."""

    text: str = ""
    mistakes: tuple[str, ...] = ()


class Configuration(Protocol):
    def running(self) -> Running: ...

    async def on_disk(self) -> OnDisk:
        """What a reload here would take; reads the file and changes nothing."""
        ...

    async def everywhere(self) -> Sequence[ProcessConfig]:
        """All processes that spoke lately. Raises StoreUnavailable."""
        ...

    async def reload(self) -> Reloaded:
        """Read the file, here and in the whole fleet; every process checks its own file whole before it takes it."""
        ...

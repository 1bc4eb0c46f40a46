"""New settings without a restart: read, checked whole, taken in one step; the last good ones stay otherwise.

Acts on SIGHUP, on POST /admin/reload, and when another process of the fleet was told to. Each process reads its own
file. A request that is under way ends under the settings it began with. What only a restart can change is named.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, SecretStr

from base.clock import SystemClock
from breaker.ports import StoreUnavailable
from breaker.takeover import RouteShares
from console.config_ports import Configuration, OnDisk, ProcessConfig, Reloaded, Running
from pointsman.assemble import Service
from pointsman.settings import Settings, SettingsError, load
from store.redis_config import RedisConfig

log = logging.getLogger("pointsman")
FIXED = (
    "listen",
    "admin_listen",
    "data_dir",
    "redis_url",
    "sql_url",
    "spool_max_bytes",
    "workers",
    "time_scale",
    "drain_s",
    "request_read_s",
    "require_keys",
    "network",
)
"""Taken once, when sockets, stores and the server open."""
ROUTERS_OWN = frozenset({"router", "gate", "breaker"})
"""Of no concern to what runs beside the router, which is then left running."""
FOLLOW_S = 1.0
HASH_CHARS = 12


class Reloads:
    """One per process. `restart`: what runs by the settings beside the router is started anew; None: nothing does."""

    def __init__(
        self,
        service: Service,
        role: str,
        file: Path | None,
        environment: Mapping[str, str],
        restart: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._service, self._role, self._file, self._environment = service, role, file, environment
        self._restart = restart
        self._store = RedisConfig(service.link, service.clock)
        self._hash, self._since = hash_of(service.settings), service.clock.now_s()
        self._restart_needed: tuple[str, ...] = ()
        self._mistakes: tuple[str, ...] = ()
        self._text: tuple[Settings, str] | None = None
        self._turn = asyncio.Lock()
        self._asked: str | None = None

    def running(self) -> Running:
        return Running(
            hash=self._hash,
            since=self._since,
            file=str(self._file or ""),
            text=self._shown(),
            restart_needed=self._restart_needed,
            mistakes=self._mistakes,
        )

    def _shown(self) -> str:
        """The settings in force as text, written out once: many models make it long."""
        settings = self._service.settings
        if self._text is None or self._text[0] is not settings:
            self._text = (settings, masked(settings))
        return self._text[1]

    async def on_disk(self) -> OnDisk:
        if self._file is None:
            return OnDisk(text=self._shown())
        try:
            settings = await self._read()
            same = settings == self._service.settings
            return OnDisk(text=self._shown() if same else await asyncio.to_thread(masked, settings))
        except (SettingsError, OSError, UnicodeDecodeError) as error:
            return OnDisk(mistakes=_told(error))

    async def everywhere(self) -> Sequence[ProcessConfig]:
        return await self._store.processes()

    async def reload(self) -> Reloaded:
        """Here, and if the file is good here, everywhere."""
        came = await self.reload_here()
        if not came.mistakes:
            with contextlib.suppress(StoreUnavailable):  # each of the others still has its SIGHUP
                self._asked = await self._store.ask_all()
        return came

    async def reload_here(self) -> Reloaded:
        """Read our own file; refused as a whole when anything in it is wrong."""
        async with self._turn:
            try:
                settings = await self._read()
            except (SettingsError, OSError, UnicodeDecodeError) as error:
                self._mistakes = _told(error)
                log.error("settings not taken, the last good ones stay: %s", "; ".join(self._mistakes))
                return Reloaded(hash=self._hash, mistakes=self._mistakes)
            came = await self._take(settings)
        if came.mistakes:
            return came
        log.info("settings %s in force; changed: %s", came.hash, ", ".join(came.changed) or "nothing")
        for key in came.restart_needed:
            log.warning("%s has changed in the file; only a restart takes that", key)
        return came

    async def _read(self) -> Settings:
        if self._file is None:
            raise FileNotFoundError(2, "this service runs without a file")
        return await asyncio.to_thread(load, self._file, self._environment)

    async def _take(self, wanted: Settings) -> Reloaded:
        service, old = self._service, self._service.settings
        different = [key for key in type(old).model_fields if getattr(wanted, key) != getattr(old, key)]
        self._restart_needed = tuple(key for key in different if key in FIXED)
        self._mistakes = ()
        changed = tuple(key for key in different if key not in FIXED)
        if changed:
            settings = wanted.model_copy(update={key: getattr(old, key) for key in FIXED})
            take(service, settings)
            self._hash, self._since = hash_of(settings), service.clock.now_s()
            if self._restart is not None and not ROUTERS_OWN.issuperset(changed):
                await self._begin_anew(self._restart)
        return Reloaded(hash=self._hash, changed=changed, restart_needed=self._restart_needed, mistakes=self._mistakes)

    async def _begin_anew(self, restart: Callable[[], Awaitable[None]]) -> None:
        try:
            await restart()
        except Exception as error:
            # Requests go on by the new settings; that nobody is told of illness any more must not go unseen.
            log.critical("what runs by the settings did not start again: %s", error, exc_info=error)
            self._mistakes = (f"taken, but what runs beside the router did not start again: {error}",)

    async def follow(self) -> None:
        """Say what we run on, and reload when the fleet is asked to; until cancelled."""
        clock, boot_id = SystemClock(), self._service.boot_id
        while True:
            with contextlib.suppress(StoreUnavailable):
                asked = await self._store.asked()
                if self._asked is not None and asked != self._asked:
                    self._asked = asked
                    await self.reload_here()
                self._asked = asked
                now_s = self._service.clock.now_s()
                own = ProcessConfig(
                    boot_id=boot_id, role=self._role, hash=self._hash, at=now_s, mistakes=self._mistakes
                )
                await self._store.say(own)
            await clock.sleep(FOLLOW_S)


def take(service: Service, settings: Settings) -> None:
    """Swap all that the request path obeys, in one step of the event loop."""
    topology, deps = settings.topology(), service.deps
    service.settings = settings
    service.guard.adopt(tuple(topology.models), settings.breaker, settings.keep_last())
    service.gray.adopt(tuple(topology.models))
    service.upstream.adopt(settings.gate)
    deps.rests.know(topology)
    deps.topology, deps.policy, deps.gate = topology, settings.router, settings.gate
    deps.shares = RouteShares(settings.breaker, service.guard.shed_at, service.clock.now_s)


def hash_of(settings: Settings) -> str:
    """12 hex digits that differ whenever any value does, a secret's too."""
    text = json.dumps(_plain(settings, _digest), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_CHARS]


def masked(settings: Settings) -> str:
    """The settings as YAML, defaults included; in the place of a secret stands `***`."""
    return yaml.safe_dump(_plain(settings, lambda _: "***"), sort_keys=False, allow_unicode=True)


def _plain(value: Any, secret: Callable[[str], str]) -> Any:
    if isinstance(value, SecretStr):
        return secret(value.get_secret_value()) if value.get_secret_value() else ""
    if isinstance(value, BaseModel):
        return {name: _plain(getattr(value, name), secret) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {str(key): _plain(item, secret) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(str(item) for item in value)
    if isinstance(value, list | tuple):
        return [_plain(item, secret) for item in value]
    return value if isinstance(value, bool | int | float) or value is None else str(value)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _told(error: Exception) -> tuple[str, ...]:
    if isinstance(error, SettingsError):
        return tuple(str(mistake) for mistake in error.mistakes)
    return (str(error.strerror or error) if isinstance(error, OSError) else "the file is not UTF-8 text",)


_configuration: type[Configuration] = Reloads

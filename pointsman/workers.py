"""Several processes of one service on one machine: they behave as replicas behind one address.

Acts: opens the clients' socket and, without a `redis_url`, the Valkey; starts the workers, which inherit both; starts one
again that ended; hands signals on. Each worker is a replica like any other: counts, limits and levels meet in Redis.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import typer

from base.clock import SystemClock
from pointsman.assemble import StartError, open_sql, redis_of
from pointsman.monitoring import Role
from pointsman.serve import CLIENTS, Door, listen
from pointsman.settings import Settings
from pointsman.with_parent import die_with_parent

log = logging.getLogger("pointsman")
VARIABLE = "POINTSMAN_WORKER"
READY_S = 120.0
AGAIN_CAP_S = 30.0
"""A worker that keeps dying is started again after 1, 2, 4 … and at most so many seconds."""
STEADY_S = 60.0
"""Who lived that long died for another reason than the last one."""
KILL_AFTER_S = 15.0
"""Beyond `drain_s`: closing stores takes a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """What one worker is told; `of` counts the routers. `listen_fd` None: it opens its own address; `folder` holds the workers' sockets."""

    number: int
    of: int
    role: Role
    redis_url: str
    folder: str
    ready_fd: int
    listen_fd: int | None = None

    def taken_sockets(self) -> list[socket.socket]:
        return [] if self.listen_fd is None else [socket.socket(fileno=self.listen_fd)]

    def tell_ready(self, told: str) -> None:
        """`told`: lines for whoever started the service."""
        with contextlib.suppress(OSError):  # nobody reads what one that was started again says
            os.write(self.ready_fd, told.encode() + b"\n")
        os.close(self.ready_fd)


def worker_of(environment: Mapping[str, str]) -> Worker | None:
    """What this process was started as; None: it is no worker."""
    told = environment.get(VARIABLE)
    if told is None:
        return None
    values = json.loads(told)
    return Worker(**{**values, "role": Role(values["role"])})


def plan(role: Role, count: int) -> list[Role]:
    """Which processes `count` workers of a role are: routers, and for `all` one monitor beside them."""
    if role is Role.MONITOR:
        raise StartError("one monitor process is enough: --workers is for routers")
    return [Role.ROUTER] * count + ([Role.MONITOR] if role is Role.ALL else [])


async def supervise(config: Path, settings: Settings, role: Role, count: int) -> None:
    """Run the workers until a signal says so. Raises StartError when they do not come up."""
    if settings.console.on_data_port:
        raise StartError("console.on_data_port needs one process: with workers the pages are on admin_listen alone")
    async with AsyncExitStack() as stack:
        roles = plan(role, count)
        door = Door(app=None, socket=stack.enter_context(listen(settings.address())), what=CLIENTS)
        redis_url = await redis_of(settings, stack)
        await open_sql(settings, stack)  # migrated once, before the workers ask
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pointsman-"))
        crew = Crew(config, door.socket, redis_url, folder, settings.drain_s + KILL_AFTER_S)
        typer.echo(f"pointsman: {count} workers", err=True)
        await crew.run(roles, door.told)


@dataclass(slots=True)
class Crew:
    """The running workers."""

    config: Path
    door: socket.socket
    redis_url: str
    folder: str
    end_s: float
    processes: dict[int, asyncio.subprocess.Process] = field(default_factory=dict)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _ready: dict[int, asyncio.Event] = field(default_factory=dict)
    _said: dict[int, str] = field(default_factory=dict)

    async def run(self, roles: list[Role], first_words: str) -> None:
        """Until told to stop; prints `first_words`, and what the workers say, once all are ready. Raises StartError when a worker ends before all are ready."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        loop.add_signal_handler(signal.SIGHUP, self._hand_on, signal.SIGHUP)
        kept = [asyncio.create_task(self._keep(at, roles.count(Role.ROUTER), role)) for at, role in enumerate(roles)]
        try:
            await self._all_ready(kept)
            if not self.stopping.is_set():
                for words in (first_words, *self._said.values()):
                    typer.echo(words)
            await asyncio.gather(*kept)
        finally:
            self._stop()
            await asyncio.gather(*kept, return_exceptions=True)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self.stopping.set()
        self._hand_on(signal.SIGTERM)  # a second one makes the workers end at once

    def _hand_on(self, number: signal.Signals) -> None:
        for process in list(self.processes.values()):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    async def _all_ready(self, kept: list["asyncio.Task[None]"]) -> None:
        self._ready.update({at: asyncio.Event() for at in range(len(kept))})
        waiting = asyncio.create_task(self._each_ready())
        stopping = asyncio.create_task(self.stopping.wait())
        try:
            done, _ = await asyncio.wait(
                {waiting, stopping, *kept}, timeout=READY_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            waiting.cancel()
            stopping.cancel()
        if not done:
            raise StartError(f"the workers were not ready within {READY_S:g} s")
        for task in kept:
            if task in done:
                task.result()

    def _is_ready(self, at: int, told: "asyncio.Task[str]") -> None:
        if words := told.result():
            self._ready[at].set()
            if words.strip():
                self._said[at] = words.strip()

    async def _each_ready(self) -> None:
        for ready in self._ready.values():
            await ready.wait()

    async def _keep(self, at: int, of: int, role: Role) -> None:
        """Keep worker `at` running. Raises StartError if it ends before it was ever ready."""
        ready = self._ready[at]
        again_s, clock = 1.0, SystemClock()
        while not self.stopping.is_set():
            began_s = clock.monotonic_s()
            process, told = await self._start(at, of, role)
            self.processes[at] = process
            if self.stopping.is_set():
                process.terminate()
            told.add_done_callback(partial(self._is_ready, at))
            code = await self._ended(process)
            del self.processes[at]
            await told
            if self.stopping.is_set():
                return
            if not ready.is_set():
                raise StartError(f"worker {at} ended with {code} before it was ready")
            again_s = 1.0 if clock.monotonic_s() - began_s > STEADY_S else min(again_s * 2, AGAIN_CAP_S)
            log.error("worker %d (%s) ended with %s; it is started again in %.0f s", at, role, code, again_s)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(again_s):
                    await self.stopping.wait()

    async def _start(self, at: int, of: int, role: Role) -> tuple[asyncio.subprocess.Process, "asyncio.Task[str]"]:
        heard, says = os.pipe()
        takes = role is Role.ROUTER
        listen_fd = self.door.fileno() if takes else None
        worker = Worker(
            number=at,
            of=of,
            role=role,
            redis_url=self.redis_url,
            folder=self.folder,
            ready_fd=says,
            listen_fd=listen_fd,
        )
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pointsman", "serve", "--config", str(self.config), "--role", role.value),
            env={**os.environ, VARIABLE: json.dumps(asdict(worker))},
            pass_fds=[says, *([self.door.fileno()] if takes else [])],
            # Of its own, so that the terminal's Ctrl-C comes through us alone and is not taken for the second one.
            start_new_session=True,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )
        os.close(says)
        return process, asyncio.create_task(_heard(heard))

    async def _ended(self, process: asyncio.subprocess.Process) -> int:
        waiting = asyncio.create_task(process.wait())
        stopping = asyncio.create_task(self.stopping.wait())
        await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        done, _ = await asyncio.wait({waiting}, timeout=self.end_s if self.stopping.is_set() else None)
        if not done:
            log.error("worker %d does not end; it is killed", process.pid)
            process.kill()
        return await waiting


async def _heard(fd: int) -> str:
    """What the other end said before it closed; empty: nothing, so it ended."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
    )
    try:
        return (await reader.read()).decode()
    finally:
        transport.close()

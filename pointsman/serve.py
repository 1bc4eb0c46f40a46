"""Listens, serves until told to stop, then drains: no new connections, streams may finish, counters are flushed.

Several ASGI apps share one event loop; the first SIGTERM or SIGINT drains all of them, the second ends at once.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import uvicorn

from pointsman.accepting import Acceptor, Client
from pointsman.addresses import found, why_not
from pointsman.assemble import Service, StartError
from pointsman.settings import Settings
from pointsman.wire_limits import limited
from router.telling import LAST_WORDS_S

CLIENTS = "apps' API (/v1)"
OPERATORS = "operators' pages and /admin"
BACKLOG = 2048
KEEP_ALIVE_S = 620
"""Who sends on a connection must be the first to give it up. Google's load balancers keep theirs for 600 s and ask for 620,
others for 60 s. It runs from our last byte on, while a slow reader still reads: with 75 s one answer in 70,000 of a mixed
crowd met a connection that was closed in the moment its client had read to the end and sent the next request.
"""
DATE_S = 1.0
"""How often the `date` of answers is written anew; it counts in seconds."""
END_S = 2 * LAST_WORDS_S
"""How long requests that we end may take to say so: a reader that is slow is given the half of it."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One app, the socket it listens on, and what is found there."""

    app: Any
    socket: socket.socket
    what: str

    @property
    def url(self) -> str:
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def told(self) -> str:
        """What whoever starts the service reads of it; the address is the last word, for programs."""
        return f"pointsman: {self.what} listening on {self.url}"


class QuietServer(uvicorn.Server):
    """A uvicorn server that leaves signals to whoever runs several of them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class DoorServer(QuietServer):
    """Takes connections by an acceptor of ours (accepting.py) instead of the loop's own, and is told when to end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()

    def end(self) -> None:
        self.should_exit = True
        self._told.set()

    async def main_loop(self) -> None:
        # uvicorn looks ten times a second whether it should end: of an idle router, a sixth of all that it costs.
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DATE_S):
                    await self._told.wait()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()

        def client() -> Client:
            made: Any = self.config.http_protocol_class
            return cast(Client, made(config=self.config, server_state=self.server_state, app_state=self.lifespan.state))

        acceptors = [Acceptor(door, client) for door in sockets or []]
        for acceptor in acceptors:
            acceptor.start()
        self.servers = cast("list[asyncio.base_events.Server]", acceptors)
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain; then end what still runs, and wait until it has: else it would find its upstream closed and blame the model."""
        await super().shutdown(sockets)
        left = set(self.server_state.tasks)
        for task in left:
            # uvicorn cancels when the drain is over, not when it is forced; told twice, a request would lose its last words.
            if not task.cancelling():
                task.cancel()
        if left:
            await asyncio.wait(left, timeout=END_S)


def listen(address: tuple[str, int]) -> socket.socket:
    """A socket that takes connections: they wait until `serve` answers them. Raises StartError, which names the address."""
    host, port = address
    sock: socket.socket | None = None
    try:
        family, bound = found(host, port)
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(bound)
        sock.listen(BACKLOG)
    except OSError as error:
        if sock is not None:
            sock.close()
        raise StartError(f"cannot listen on {host}:{port}: {why_not(error)}") from error
    return sock


async def serve(
    service: Service,
    doors: Sequence[Door],
    stop: asyncio.Event | None = None,
    on_hangup: Callable[[], Coroutine[Any, Any, object]] | None = None,
) -> None:
    """Serve until a signal comes or `stop` is set, then drain; `on_hangup` is run at each SIGHUP."""
    stop = stop or asyncio.Event()
    servers = [DoorServer(_config(door, service.settings)) for door in doors]
    with _signals(stop, servers), _hangups(on_hangup):
        running = [
            asyncio.create_task(server.serve(sockets=[door.socket]), name=door.url)
            for server, door in zip(servers, doors, strict=True)
        ]
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([*running, stopping], return_when=asyncio.FIRST_COMPLETED)
        service.draining = True
        for server in servers:
            server.end()
        await asyncio.gather(*running)
        stopping.cancel()


def _config(door: Door, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        door.app,
        http=limited(settings.request_read_s),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        # Whom a proxy speaks for is asked by the pages alone; for the apps' API it would be worked out at each request.
        proxy_headers=door.what != CLIENTS,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(settings.drain_s)),
    )


@contextlib.contextmanager
def _hangups(work: Callable[[], Coroutine[Any, Any, object]] | None) -> Iterator[None]:
    loop, running = asyncio.get_running_loop(), set()

    def told() -> None:
        assert work is not None
        running.add(task := asyncio.create_task(work(), name="reload"))
        task.add_done_callback(running.discard)

    added = False
    if work is not None:
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError, AttributeError):
            loop.add_signal_handler(signal.SIGHUP, told)
            added = True
    try:
        yield
    finally:
        if added:
            loop.remove_signal_handler(signal.SIGHUP)


@contextlib.contextmanager
def _signals(stop: asyncio.Event, servers: Sequence[QuietServer]) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def told() -> None:
        if stop.is_set():
            for server in servers:
                server.force_exit = True
        stop.set()

    added = []
    for number in SIGNALS:
        # Not in the main thread, or on a platform without them: whoever set `stop` ends it.
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(number, told)
            added.append(number)
    try:
        yield
    finally:
        for number in added:
            loop.remove_signal_handler(number)

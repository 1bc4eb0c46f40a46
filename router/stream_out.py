"""The client's side of one stream, over ASGI: headers once, events as they come, comments when it is silent for long."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator
from typing import Any, Protocol

from starlette.types import Send

from router.deps import Deps
from router.sse import DONE, KEEP_ALIVE, framed

_STREAM_HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # nginx gathers events otherwise
)

WRITE_NOW = "pointsman.write_now"
"""An extension of ASGI's scope: a WriteNow under `writer`."""


class Flow(Protocol):
    """Of a connection, kept by the server."""

    write_paused: bool
    """The client has yet to take what was written."""


class WriteNow(Protocol):
    """Writes parts of a running answer's body without coroutine, message, and a turn of anybody."""

    def write(self, body: bytes) -> bool:
        """Write a part at once; False: nothing was written, send it."""

    def straight(self) -> Callable[[bytes], object] | None:
        """Writes to the connection whatever it is given, which must be whole chunks; None: not to this answer, or not now."""

    @property
    def flow(self) -> Flow: ...


class _Rest(Awaitable[None]):
    """The rest of an awaitable that was begun without a task; `waits_for`: what it waits for first."""

    def __init__(self, begun: Iterator[Any], waits_for: Any) -> None:
        self._begun, self._waits_for = begun, waits_for

    def __await__(self) -> Generator[Any, Any, None]:
        yield self._waits_for
        yield from self._begun


class SseOut:
    """The client's side of one stream: headers once, events as they come, comments when it is silent for long."""

    def __init__(self, send: Send, deps: Deps, writer: WriteNow | None = None) -> None:
        self.started = False
        self.free = True
        self._send = send
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._every_s = max(0.001, deps.clock.real_s(deps.policy.keepalive_s))
        self._wrote_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._beat: asyncio.Task[None] | None = None
        self._unwritten: asyncio.Task[None] | None = None

    async def start(self, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        self.started = True
        await self._send({"type": "http.response.start", "status": 200, "headers": [*headers, *_STREAM_HEADERS]})
        self._wrote_at = self._loop.time()
        self._set_timer(self._every_s)

    def events(self, found: list[bytes]) -> None:
        self._wrote_at = self._loop.time()
        body = framed(found[0]) if len(found) == 1 else b"".join(map(framed, found))
        if self._writer is not None and self._writer.write(body):
            return
        writing = self._send({"type": "http.response.body", "body": body, "more_body": True}).__await__()
        try:
            # As far as it goes without waiting, which is to its end unless the client reads slowly.
            waits_for = next(writing)
        except StopIteration:
            return
        self._unwritten, self.free = asyncio.ensure_future(_Rest(writing, waits_for)), False

    def straight(self) -> Callable[[bytes], bool] | None:
        writer, loop = self._writer, self._loop
        if writer is None or not self.free or (write := writer.straight()) is None:
            return None
        flow = writer.flow

        def chunk(whole: bytes) -> bool:
            self._wrote_at = loop.time()
            write(whole)
            return not flow.write_paused

        return chunk

    async def _written(self) -> None:
        if self._unwritten is not None:
            await self._unwritten
            self._unwritten, self.free = None, True

    async def event(self, data: bytes) -> None:
        if self._unwritten is not None:
            await self._written()
        self._wrote_at = self._loop.time()
        await self._send({"type": "http.response.body", "body": framed(data), "more_body": True})

    async def done(self) -> None:
        await self._written()
        await self._send({"type": "http.response.body", "body": DONE, "more_body": True})

    async def end(self) -> None:
        """Close the response; after this nothing is written."""
        await self._written()
        self.close()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for task in (self._beat, self._unwritten):
            if task is not None and not task.cancel() and not task.cancelled():
                task.exception()  # nobody is left to be told
        self._beat = self._unwritten = None

    def _set_timer(self, after_s: float) -> None:
        self._timer = self._loop.call_later(after_s, self._on_timer)

    def _on_timer(self) -> None:
        # One timer for a whole stream, moved on when it fires: a reset at every event would cost each of them.
        silent_s = self._loop.time() - self._wrote_at
        if silent_s < self._every_s:
            self._set_timer(self._every_s - silent_s)
            return
        self._wrote_at = self._loop.time()
        self._beat = asyncio.create_task(self._keep_alive())
        self._set_timer(self._every_s)

    async def _keep_alive(self) -> None:
        await self._send({"type": "http.response.body", "body": KEEP_ALIVE, "more_body": True})

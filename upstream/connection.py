"""One HTTP/1.1 connection to an upstream: bytes out, one parsed answer in at a time.

Acts: an asyncio protocol around httptools' parser. Errors are httpx's own classes, so that whoever reads cannot tell
this transport from the stock one.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from typing import cast

import httptools
import httpx

from upstream.peer import PLAIN

MAX_HEAD_BYTES = 64 * 1024
"""Twice what nginx lets a peer send at most by default (4 x 8 KiB); beyond it an upstream is not speaking HTTP."""
HIGH_WATER_BYTES = 512 * 1024
"""Unread body bytes at which reading pauses, so that a slow client costs half a megabyte and not the whole reply."""

_BODILESS = frozenset({204, 304})


def _nowhere(body: bytes) -> None:
    """A body that nobody asked for."""


class Answer(httpx.AsyncByteStream):
    """One answer: filled by the connection, read once by whoever asked. Ends with StopAsyncIteration or httpx's error."""

    def __init__(self, connection: "Connection") -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.named: dict[bytes, bytes] = {}
        """The same by lower-case name; of several the last."""
        self.ended = False
        self.touched = False
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self.parts_came: list[bytes] = []
        """Of the body, not yet read: the parser appends to it."""
        self._size = 0
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._take: Callable[[bytes], bytes | None] | None = None
        self.straight: Callable[[bytes], bytes | None] | None = None
        """See upstream/peer.py, `tap`."""

    async def head(self) -> None:
        """Wait until status and headers are in."""
        while not self.status:
            if self._error is not None:
                raise self._error
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def header(self, name: str) -> str:
        return self.named.get(name.encode(), b"").decode("latin-1")

    def parts(self) -> AsyncIterator[bytes]:
        if self.header("content-encoding") in PLAIN:
            return self
        return httpx.Response(self.status, headers=self.headers, stream=self).aiter_bytes()

    async def read(self) -> bytes:
        """The whole body."""
        parts = [part async for part in self.parts()]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def __aiter__(self) -> "Answer":
        return self

    async def __anext__(self) -> bytes:
        while not self.parts_came:
            if self.ended:
                raise StopAsyncIteration
            if self._error is not None:
                raise self._error
            self._waiter = waiter = self._loop.create_future()
            try:
                await waiter
            finally:
                self._waiter = None
        return self._gathered()

    def tap(self, take: Callable[[bytes], bytes | None], straight: Callable[[bytes], bytes | None]) -> None:
        if self.header("content-encoding") in PLAIN:
            self._take, self.straight = take, straight

    async def aclose(self) -> None:
        """Let go: an unfinished answer takes its connection with it, at once."""
        if not self.ended:
            self._connection.abort()

    def _gathered(self) -> bytes:
        parts = self.parts_came
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        if self._size >= HIGH_WATER_BYTES:
            self._connection.resume()
        self._size = 0
        return data

    def end(self) -> None:
        self.ended = True
        # Whatever a peer says after its end goes nowhere: the parser still holds the list it was given.
        self.parts_came = self.parts_came.copy()

    def fail(self, error: Exception) -> None:
        if not self.ended and self._error is None:
            self._error = error
            self.wake()

    def came(self, size: int) -> None:
        """A read of `size` bytes was parsed: hand on what it held of the body."""
        waiter, take, parts = self._waiter, self._take, self.parts_came
        if take is not None and waiter is not None and parts and not (self.ended or self._error or waiter.done()):
            # As nearly every event of a stream comes and goes: whoever waits is not woken for it.
            left = take(parts.pop() if len(parts) == 1 else self._gathered())
            if left is None:
                return
            parts.append(left)
        before, self._size = self._size, self._size + size
        if before < HIGH_WATER_BYTES <= self._size and not self.ended:
            self._connection.pause()
        self.wake()

    def wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class Connection(asyncio.Protocol):
    """`ask` while no answer is running; `free` is called when it may be asked again, never after it closed."""

    def __init__(self, free: Callable[["Connection"], None], lost: Callable[["Connection"], None]) -> None:
        self.idle_since = 0.0
        self._free = free
        self._lost = lost
        self.on_body: Callable[[bytes], None] = _nowhere
        """Of the parser of the answer that runs: straight into the answer, without a call of ours for each chunk."""
        self._answer: Answer | None = None
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._head_bytes = 0
        self._framed = False
        self._between_chunks = False
        """The parser stands where a chunk begins, so that it need not see those that are whole."""

    @property
    def closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def ask(self, data: bytes) -> Answer:
        """Send one whole request."""
        assert self._transport is not None and self._answer is None
        self._head_bytes, self._framed, self._between_chunks = 0, False, False
        self._answer = answer = Answer(self)
        self.on_body = answer.parts_came.append
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write(data)
        return answer

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    # asyncio calls these

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # No isinstance: uvloop's TLS transport is no asyncio.Transport, though it does what one does.
        self._transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            # Nagle's algorithm costs up to 40 ms against a peer that delays its acknowledgements.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            # Nobody asked: a peer that talks out of turn is not to be reused.
            self.abort()
            return
        if self._between_chunks and answer.straight is not None:
            left = answer.straight(data)
            if left is None:
                return
            if left is not data:
                answer.parts_came.append(left)
                answer.wake()
                return
        answer.touched = True
        if not answer.status:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._broken(answer, "upgrade not asked for")
        except httptools.HttpParserError as error:
            self._broken(answer, str(error))
        else:
            if not answer.status and self._head_bytes > MAX_HEAD_BYTES:
                self._broken(answer, "headers too large")
            if self._between_chunks and not data.endswith(b"\r\n"):
                self._between_chunks = False  # the first bytes of the next one were in this read
        answer.came(len(data))

    def eof_received(self) -> None:
        answer = self._answer
        if answer is not None and answer.status and not self._framed:
            # Without a length the end of the connection is the end of the body.
            self._answer = None
            answer.end()
            answer.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        answer, self._answer = self._answer, None
        self._transport = None
        self._lost(self)
        if answer is None:
            return
        if exc is not None:
            answer.fail(httpx.ReadError(type(exc).__name__))
        else:
            answer.fail(httpx.RemoteProtocolError("peer closed the connection before the end of its answer"))

    def _broken(self, answer: Answer, why: str) -> None:
        self._answer = None
        answer.fail(httpx.RemoteProtocolError(why))
        self.abort()

    # httptools calls these while feed_data runs

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._answer is not None and not self._answer.status:
            self._answer.headers.append((name, value))

    def on_headers_complete(self) -> None:
        answer = self._answer
        status = self._parser.get_status_code()
        if answer is None or status < 200:
            return
        names = answer.named = {name.lower(): value for name, value in answer.headers}
        self._framed = status in _BODILESS or b"content-length" in names or b"transfer-encoding" in names
        answer.status = status

    def on_chunk_header(self) -> None:
        self._between_chunks = False

    def on_chunk_complete(self) -> None:
        self._between_chunks = True

    def on_message_complete(self) -> None:
        answer = self._answer
        if answer is None:
            return
        if not answer.status:
            # 1xx: the real answer follows.
            answer.headers.clear()
            return
        self._answer = None
        answer.end()
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        # An answer that came before the request was all sent leaves bytes that the next answer would be taken for.
        if self._parser.should_keep_alive() and self._framed and not transport.get_write_buffer_size():
            transport.resume_reading()
            self._free(self)
        else:
            transport.abort()

"""What a client may take of a connection: so many bytes of headers, so long until its request is here.

Acts: uvicorn's httptools protocol with two limits more, and a shorter way for the parts of a stream. Over the limits the
client is told in OpenAI's error shape (431, 408) and the connection is closed; an endless header costs 64 KiB, a request
that trickles in one timer.
"""

import asyncio
import json
import select
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from router.stream_out import WRITE_NOW

MAX_HEAD_BYTES = 64 * 1024
"""Request line and headers. nginx takes 32 KiB by default (4 × 8 KiB); twice that leaves room for long cookies and traces."""
LOOK_AGAIN_S = 1.0
"""How long bytes that nobody has read yet may take to be read, before a request that is late is refused all the same."""
_TOO_LARGE = f"request line and headers may have {MAX_HEAD_BYTES} bytes"
_REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


def limited(read_s: float) -> type[asyncio.Protocol]:
    """The protocol for uvicorn's `http`: a request must have arrived whole within `read_s` seconds."""
    return cast("type[asyncio.Protocol]", partial(LimitedProtocol, read_s=read_s))


class LimitedProtocol(HttpToolsProtocol):
    """One connection. The time runs from its start, or from a request's first byte, to that request's last byte."""

    def __init__(self, *args: Any, read_s: float, **named: Any) -> None:
        super().__init__(*args, **named)
        self._read_s = read_s
        self._timer: asyncio.TimerHandle | None = None
        self._looked_again = False
        self._draining = False
        self._in_head = True
        self._expects_head = True
        """The next byte belongs to a head: in one, or between two requests."""
        self._head_bytes = 0
        self._begun = False
        """Of a request something is here, and not yet all."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # A read may hold more than a head may have, and the parser would take it whole.
        if len(data) > MAX_HEAD_BYTES and self._expects_head and data.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES) < 0:
            self._refuse(431, "headers_too_large", _TOO_LARGE)
            return
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(431, "headers_too_large", _TOO_LARGE)
        if self._draining:
            self._end_if_idle()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "invalid_request", "this is not HTTP/1.1, or breaks its rules")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._expects_head, self._head_bytes, self._begun = True, True, 0, True
        self._arm()

    def on_headers_complete(self) -> None:
        self._in_head = self._expects_head = False
        super().on_headers_complete()
        if self._draining:
            self.cycle.keep_alive = False  # which the head of the answer tells
        self.scope["extensions"] = {WRITE_NOW: {"writer": BodyWriter(self.cycle)}}

    def on_message_complete(self) -> None:
        self._disarm()
        self._expects_head, self._begun = True, False
        super().on_message_complete()

    def shutdown(self) -> None:
        """End with the answer that runs; when none does at once, unless a request is here that nobody has read yet."""
        self._draining = True
        idle = self.cycle is None or self.cycle.response_complete
        if not (idle and unread(self.transport)):
            super().shutdown()

    def _end_if_idle(self) -> None:
        """What was unread when the drain began may have been no request: a line break after one is skipped, and nothing follows."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and not self._begun and not self.transport.is_closing() and not unread(self.transport):
            self._disarm()
            self.transport.close()

    def timeout_keep_alive_handler(self) -> None:
        # Time is up and the next request came in the same turn of the loop: who closes now answers it with a reset.
        if not unread(self.transport):
            super().timeout_keep_alive_handler()

    def _arm(self) -> None:
        self._disarm()
        self._looked_again = False
        self._timer = self.loop.call_later(self._read_s, self._too_slow)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        if self.pipeline:
            # We stopped reading until the request before it is answered: the wait is ours, not the client's.
            self._arm()
            return
        if not self._looked_again and unread(self.transport):
            # The process was stopped or overloaded: the loop ends what is late before it reads what came meanwhile.
            self._looked_again = True
            self._timer = self.loop.call_later(LOOK_AGAIN_S, self._too_slow)
            return
        self._refuse(408, "request_timeout", f"the request was not here whole after {self._read_s:g} s")

    def _refuse(self, status: int, code: str, told: str) -> None:
        self._disarm()
        if self.transport.is_closing():
            return
        # Into the middle of another answer nothing can be said.
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            error = {"message": told, "type": "invalid_request_error", "param": None, "code": code}
            body = json.dumps({"error": error}).encode()
            head = (
                f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()


def unread(transport: asyncio.BaseTransport) -> bool:
    """Whether there is something to read on a connection, be it its end. Closed with bytes unread, its peer sees a reset."""
    sock = transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0:
        return False
    looking = select.poll()
    looking.register(sock.fileno(), select.POLLIN)
    return bool(looking.poll(0))


class BodyWriter:
    """Writes what `cycle.send` would, as long as nothing stands in its way: the answer is chunked, its client is there."""

    __slots__ = ("_cycle", "flow")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle, self.flow = cycle, cycle.flow

    def write(self, body: bytes) -> bool:
        if not self._free():
            return False
        self._cycle.transport.write(b"%x\r\n%b\r\n" % (len(body), body))
        return True

    def straight(self) -> Callable[[bytes], object] | None:
        return self._cycle.transport.write if self._free() else None

    def _free(self) -> bool:
        cycle = self._cycle
        running = cycle.response_started and cycle.chunked_encoding and not cycle.response_complete
        return bool(running) and not (cycle.disconnected or self.flow.write_paused)

"""The shorter way for parts of a stream: the same bytes as ASGI's own, and none where something stands in its way."""

import asyncio
import json
import socket
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from pointsman.wire_limits import MAX_HEAD_BYTES, LimitedProtocol
from router.stream_out import WRITE_NOW

GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def served(app: Any) -> bytes:
    """What goes over the wire when `app` answers one request."""
    config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None)
    config.load()
    wire = Wire()
    protocol = LimitedProtocol(config, ServerState(), {}, read_s=60.0)
    protocol.connection_made(wire)
    protocol.data_received(GET)
    for _ in range(5):
        await asyncio.sleep(0)
    protocol.connection_lost(None)
    return wire.sent


def answer(parts: list[bytes], *, short: bool, headers: list[tuple[bytes, bytes]], told: list[bool]) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        write = scope["extensions"][WRITE_NOW]["writer"].write
        told.append(write(b"too early"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for part in parts:
            if not short or not write(part):
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        told.append(write(b"too late"))

    return app


@pytest.mark.parametrize("headers", [[], [(b"content-length", b"9")]], ids=["chunked", "with a length"])
async def test_either_way_the_same_bytes_go_out_and_nothing_before_the_head_or_after_the_end(
    headers: list[tuple[bytes, bytes]],
) -> None:
    parts, told = [b"data: 1\n\n"], list[bool]()
    plain = await served(answer(parts, short=False, headers=headers, told=told))
    short = await served(answer(parts, short=True, headers=headers, told=told))
    assert short == plain and b"data: 1\n\n" in plain
    assert told == [False] * 4


async def test_a_client_that_reads_slowly_or_is_gone_is_left_to_the_ordinary_way() -> None:
    told = list[bool]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        write = scope["extensions"][WRITE_NOW]["writer"].write
        await send({"type": "http.response.start", "status": 200, "headers": []})
        told.append(write(b"fine"))
        protocol.pause_writing()
        told.append(write(b"full"))
        protocol.resume_writing()
        told.append(write(b"room again"))
        protocol.connection_lost(None)
        told.append(write(b"gone"))

    config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None)
    config.load()
    wire = Wire()
    protocol = LimitedProtocol(config, ServerState(), {}, read_s=60.0)
    protocol.connection_made(wire)
    protocol.data_received(GET)
    for _ in range(5):
        await asyncio.sleep(0)
    assert told == [True, False, True, False]
    assert b"4\r\nfine\r\n" in wire.sent and b"full" not in wire.sent and b"gone" not in wire.sent


async def told(*parts: bytes, app: Any = None) -> tuple[bytes, bool]:
    """What a client that sends these parts reads, and whether it is sent away."""
    config = uvicorn.Config(app or endless, ws="none", lifespan="off", log_config=None)
    config.load()
    wire = Wire()
    protocol = LimitedProtocol(config, ServerState(), {}, read_s=60.0)
    protocol.connection_made(wire)
    for part in parts:
        protocol.data_received(part)
        for _ in range(5):
            await asyncio.sleep(0)
    sent_away = wire.closed
    protocol.connection_lost(None)
    return wire.sent, sent_away


async def endless(scope: Any, receive: Any, send: Any) -> None:
    """Begins an answer that does not end before the client leaves."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while (await receive())["type"] != "http.disconnect":
        pass


async def ok(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


LARGE = GET.replace(b"host: x", b"host: x\r\nx: " + b"a" * MAX_HEAD_BYTES)


@pytest.mark.parametrize("before", [[], [GET]], ids=["first", "after another request"])
async def test_a_head_that_is_too_large_is_refused_although_it_came_in_one_read(before: list[bytes]) -> None:
    got, closed = await told(*before, LARGE, app=ok)
    assert closed and got.count(b"HTTP/1.1 431 ") == 1 and b"headers_too_large" in got
    assert got.count(b"HTTP/1.1 204 ") == len(before)


async def test_a_large_body_in_one_read_is_no_large_head() -> None:
    post = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (
        2 * MAX_HEAD_BYTES,
        b"a" * 2 * MAX_HEAD_BYTES,
    )
    for parts in ([post], [post[:60], post[60:]], [GET, post]):
        got, closed = await told(*parts, app=ok)
        assert b" 431 " not in got and not closed


async def test_what_is_no_http_is_told_in_the_shape_of_every_error() -> None:
    got, closed = await told(b"\x16\x03\x01 hello")
    assert closed and got.startswith(b"HTTP/1.1 400 ")
    assert json.loads(got.split(b"\r\n\r\n", 1)[1])["error"]["code"] == "invalid_request"


async def test_garbage_behind_a_request_does_not_get_into_the_answer_that_runs() -> None:
    got, closed = await told(GET, b"\x16\x03\x01 hello")
    assert closed and got.count(b"HTTP/1.1 ") == 1


ANSWERED = b"ok"


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": ANSWERED})


@pytest.mark.parametrize("before", [b"", GET], ids=["new", "kept open"])
@pytest.mark.parametrize(("rest", "answers"), [(b"", 0), (GET, 1)], ids=["a line break alone", "and a request"])
async def test_in_a_drain_a_connection_with_a_stray_line_break_ends_and_one_with_a_request_is_answered(
    before: bytes, rest: bytes, answers: int
) -> None:
    config = uvicorn.Config(hello, ws="none", lifespan="off", log_config=None)
    config.load()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire()
        wire._extra["socket"] = ours  # type: ignore[attr-defined]
        protocol = LimitedProtocol(config, ServerState(), {}, read_s=60.0)
        protocol.connection_made(wire)
        if before:
            await _read(protocol, before)
        said = wire.sent.count(ANSWERED)
        theirs.send(b"\r\n")
        protocol.shutdown()
        assert not wire.closed, "something is here that nobody has read"
        if rest:
            theirs.send(rest)
        # As the event loop reads: the line break by itself, then what else there is.
        await _read(protocol, ours.recv(2))
        assert wire.closed == (not rest)
        if rest:
            await _read(protocol, ours.recv(1_000))
        assert wire.closed and wire.sent.count(ANSWERED) - said == answers
        assert wire.sent.count(b"connection: close") == answers
        protocol.connection_lost(None)


async def _read(protocol: LimitedProtocol, data: bytes) -> None:
    protocol.data_received(data)
    for _ in range(5):
        await asyncio.sleep(0)

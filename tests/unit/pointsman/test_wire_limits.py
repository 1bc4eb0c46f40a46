"""The shorter way for parts of a stream: the same bytes as ASGI's own, and none where something stands in its way."""

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from pointsman.wire_limits import LimitedProtocol
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
        write = scope["extensions"][WRITE_NOW]["write"]
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
        write = scope["extensions"][WRITE_NOW]["write"]
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

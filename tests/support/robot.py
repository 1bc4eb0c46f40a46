"""A group robot's receiver: keeps what was sent and answers as WeCom's does."""

import asyncio
import json
from typing import Any


class Robot:
    """`async with Robot() as robot: robot.url, robot.got`."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/cgi-bin/webhook/send?key=k"

    async def __aenter__(self) -> "Robot":
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        self.got.append(json.loads(await reader.readexactly(length)))
        body = b'{"errcode":0,"errmsg":"ok"}'
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

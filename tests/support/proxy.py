"""A forward proxy: tunnels by CONNECT and passes plain requests on; `names` says where a made-up host really is."""

import asyncio
import base64
import contextlib
from collections.abc import Mapping
from types import TracebackType


class ForwardProxy:
    """`seen`: the first line of each request; `login` "user:password": others are refused with 407."""

    def __init__(self, names: Mapping[str, tuple[str, int]], login: str = "") -> None:
        self._names, self._login = dict(names), login
        self.seen: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "ForwardProxy":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            await self._between(reader, writer, writers)
        finally:
            for one in writers:
                one.close()

    async def _between(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, writers: list[asyncio.StreamWriter]
    ) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            line = head.split(b"\r\n", 1)[0].decode()
            self.seen.append(line)
            wanted = b"basic " + base64.b64encode(self._login.encode()).lower()
            if self._login and wanted not in head.lower():
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                return
            method, target, _ = line.split()
            if method == "CONNECT":
                there = await asyncio.open_connection(*self._names[target.rpartition(":")[0]])
                writers.append(there[1])
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                host, _, path = target.removeprefix("http://").partition("/")
                there = await asyncio.open_connection(*self._names[host.partition(":")[0]])
                writers.append(there[1])
                there[1].write(head.replace(target.encode(), b"/" + path.encode(), 1))
            await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(65_536):
            sink.write(data)
            await sink.drain()
    sink.close()

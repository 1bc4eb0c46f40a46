"""A TCP proxy between a client and a server that can be told to go wrong: refuse, swallow, be slow."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from enum import StrEnum


class Manner(StrEnum):
    PASS = "pass"
    SLOW = "slow"  # each answer comes `delay_s` late
    SWALLOW = "swallow"  # accepts and reads, answers nothing: a black hole
    REFUSE = "refuse"  # closes at once


class Proxy:
    """`manner` may be changed at any time and holds for open connections too; `target` for those opened later."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.manner = Manner.PASS
        self.delay_s = 0.2
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    def refuse(self) -> None:
        """Close what is open, and whatever is opened from now on."""
        self.manner = Manner.REFUSE
        for writer in list(self._writers):
            writer.transport.abort()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.manner is Manner.REFUSE:
            writer.transport.abort()
            return
        there, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        self._writers |= {writer, to_server}
        try:
            await asyncio.gather(self._carry(reader, to_server, back=False), self._carry(there, writer, back=True))
        finally:
            self._writers -= {writer, to_server}
            writer.close()
            to_server.close()

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, back: bool) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65_536):
                if back and self.manner is Manner.SLOW:
                    await asyncio.sleep(self.delay_s)
                if back and self.manner is Manner.SWALLOW:
                    continue
                sink.write(data)
                await sink.drain()
        sink.close()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    """A proxy on a port of its own, for the time of the block."""
    proxy = Proxy(port)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()

"""The event loop of the tests: at its end it closes what its servers accepted, and tells of what its clients left open.

A server of asyncio that is closed keeps the connections it accepted (until Python 3.12 nothing waits for them either), so
a peer that comes in the last turn leaves a socket behind; the warning about it comes with a later collection of garbage,
and then fails a test that has nothing to do with it. A connection that our own code opened and forgot is a defect: it is
told at once, in the test that did it.
"""

import asyncio
import socket
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

TURNS = 8
"""Turns until an aborted connection is closed: TLS needs three, a plain one needs one."""


class LeftOpen(AssertionError):
    """A test ended before what it opened was closed."""


class TidyLoop(asyncio.SelectorEventLoop):
    """Reads two private parts of its parent: `_transports` by descriptor, and the step that follows an accepted socket."""

    def __init__(self) -> None:
        super().__init__()
        self._accepted: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    async def _taken_over(
        self, conn: socket.socket, server: asyncio.Server, begun: Callable[[], Awaitable[None]]
    ) -> None:
        """A server closed since then would fail to take the connection over, and leave it open."""
        if server.is_serving():
            await begun()
        else:
            conn.close()

    def _accept_connection2(
        self, factory: Any, conn: socket.socket, extra: Any, context: Any, server: asyncio.Server, *more: Any
    ) -> Coroutine[Any, Any, None]:
        self._accepted.add(conn)
        begun = partial(super()._accept_connection2, factory, conn, extra, context, server, *more)  # type: ignore[misc]
        return self._taken_over(conn, server, begun)

    def close(self) -> None:
        """Raises: LeftOpen, after everything is closed."""
        if self.is_closed() or self.is_running():
            super().close()
            return
        self._abort(self._of_servers())
        for conn in self._accepted:
            conn.close()  # those that no transport took over
        forgotten = [one for one in self._open() if not one.is_closing()]
        told = [str(one) for one in forgotten]
        self._abort(self._open())
        super().close()
        if told:
            raise LeftOpen(f"{len(told)} connections were opened and not closed: {told[:3]}")

    def _open(self) -> list[asyncio.Transport]:
        """Also those that are closing, but wait for a reader that never comes."""
        found: list[asyncio.Transport] = list(self._transports.values())  # type: ignore[attr-defined]
        return [one for one in found if _descriptor(one) >= 0]

    def _of_servers(self) -> list[asyncio.Transport]:
        accepted = {conn.fileno() for conn in self._accepted}
        return [one for one in self._open() if _descriptor(one) in accepted]

    def _abort(self, connections: list[asyncio.Transport]) -> None:
        for one in connections:
            one.abort()
        for _ in range(TURNS):
            self.run_until_complete(asyncio.sleep(0))


def _descriptor(transport: asyncio.Transport) -> int:
    """-1: closed."""
    held: socket.socket = transport.get_extra_info("socket")
    return held.fileno()

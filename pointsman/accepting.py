"""Takes clients' connections off a listening socket: as many as wait, not one in each turn of the loop.

Acts. libuv accepts one connection in a turn; on a busy worker a turn takes 10 to 20 ms, so that the last of 128 clients
that connect at once was accepted after 1.6 s (docs/performance.md). What is left over waits for the next turn, so that a
flood of connections does not hold up those that are open.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

A_TURN = 32
"""At most so many in one turn: each costs some 50 µs. Workers that share a socket are awake together and share a crowd."""
AT_LAST = 2048
"""At most so many when it closes: as many as the kernel keeps for us (pointsman/serve.py, BACKLOG)."""
FIRST_REQUEST_S = 0.5
"""How long one that was let in at the very end may take to send its request, which is on its way or here."""
PAUSE_S = 0.1
"""How long nothing is accepted when the machine has no room for more: the socket stays readable, a loop would spin."""
TELL_AGAIN_S = 60.0
_OF_ONE = frozenset(
    {errno.ECONNABORTED, errno.EPROTO, errno.EPERM, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH}
)
"""accept(2): what befell the one connection that would have been accepted; the next may be fine."""
_LEFT = frozenset({errno.ECONNRESET, errno.ENOTCONN, errno.EINVAL, errno.EPIPE})
"""What is said of a connection whose client has gone."""

log = logging.getLogger("pointsman")


class Client(asyncio.BaseProtocol):
    """What is made of each connection."""

    def shutdown(self) -> None:
        """End with the answer that runs, or at once."""


class Acceptor:
    """Accepts from `start` to `close`. Stands where uvicorn keeps an asyncio server."""

    def __init__(self, listening: socket.socket, client: Callable[[], Client]) -> None:
        self._listening, self._client = listening, client
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[None]] = set()
        self._paused: asyncio.TimerHandle | None = None
        self._told_at: float | None = None
        self._closed = False

    def start(self) -> None:
        self._listening.setblocking(False)
        self._resume()

    def close(self) -> None:
        """Accept who is waiting, and no more; the socket is the caller's to close."""
        if self._closed:
            return
        self._closed = True
        if self._paused is None:
            # For a client they are open connections: the kernel would reset them with the socket, and their requests.
            self._take(AT_LAST)
            self._loop.remove_reader(self._listening)
        else:
            self._paused.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._opening, return_exceptions=True)

    def _resume(self) -> None:
        self._paused = None
        self._loop.add_reader(self._listening, self._ready)

    def _ready(self) -> None:
        self._take(A_TURN)

    def _take(self, at_most: int) -> None:
        for _ in range(at_most):
            try:
                taken, _address = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return  # all taken, here or by another worker
            except OSError as error:
                if error.errno in _OF_ONE:
                    continue
                self._no_room(error)
                return
            self._opening.add(task := self._loop.create_task(self._opened(taken)))
            task.add_done_callback(self._opening.discard)

    def _no_room(self, error: OSError) -> None:
        """EMFILE, ENFILE, ENOBUFS, ENOMEM: clients wait in the kernel's queue until others have gone."""
        self._tell("cannot accept connections: %s; clients wait. Raise the limit of open files?", error)
        if self._closed:
            return
        self._loop.remove_reader(self._listening)
        self._paused = self._loop.call_later(PAUSE_S, self._resume)

    def _tell(self, what: str, error: OSError) -> None:
        now = self._loop.time()
        if self._told_at is None or now - self._told_at > TELL_AGAIN_S:
            self._told_at = now
            log.error(what, error.strerror or error)

    async def _opened(self, taken: socket.socket) -> None:
        try:
            taken.setblocking(False)
            if taken.family in (socket.AF_INET, socket.AF_INET6):
                # An event is a small packet that must not wait for the acknowledgement of the one before.
                taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _, client = await self._loop.connect_accepted_socket(self._client, taken)
        except OSError as error:
            taken.close()
            if error.errno not in _LEFT:
                self._tell("a connection was lost while it was let in: %s", error)
            return
        if self._closed:
            await asyncio.sleep(FIRST_REQUEST_S)
            client.shutdown()

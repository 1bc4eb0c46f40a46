"""An httpx transport on asyncio protocols and httptools' C parser: HTTP/1.1 over TCP or TLS, with a keep-alive pool.

Acts. httpx's own pool takes 1.5 to 5.1 ms of processor time a call, growing with open connections; this one a tenth.
Spoken: GET and POST, whole request bodies, `extensions["timeout"]["connect"]`. Not spoken: proxies, HTTP/2, HEAD, redirects.
Reads have no time-out of their own: whoever calls bounds them.
"""

import asyncio
import contextlib
import ssl
from collections import deque

import httpx

from upstream.connection import Answer, Connection
from upstream.peer import Address, Peer, head_of

IDLE_S = 45.0
"""Below the 60 s after which common servers and balancers (nginx 75 s, AWS 60 s) drop an idle connection."""
MAX_IDLE_PER_HOST = 256

_Peer = tuple[str, str, int]


class FastTransport(httpx.AsyncBaseTransport):
    """Raises httpx's exceptions. `verify` is a context or None for the machine's trust store."""

    def __init__(self, *, verify: ssl.SSLContext | None = None, idle_s: float = IDLE_S) -> None:
        self._ssl = verify
        self._idle_s = idle_s
        self._idle: dict[_Peer, deque[Connection]] = {}
        self._open: set[Connection] = set()
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; a reused connection that turns out dead before a byte came back is replaced once."""
        if self._closed:
            raise httpx.PoolTimeout("transport is closed", request=request)
        data = wire(request, await request.aread())
        url = request.url
        peer = (url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80))
        limits = request.extensions.get("timeout") or {}
        answer = await self._answer(peer, data, limits.get("connect"))
        return httpx.Response(answer.status, headers=answer.headers, stream=answer)

    async def post(self, address: Address, content: bytes, connect_s: float) -> Answer:
        """The same without httpx's records, which cost more than the call itself."""
        if self._closed:
            raise httpx.PoolTimeout("transport is closed")
        data = b"%scontent-length: %d\r\n\r\n%s" % (address.head, len(content), content)
        return await self._answer(address.peer, data, connect_s)

    async def _answer(self, peer: _Peer, data: bytes, connect_s: float | None) -> Answer:
        connection = self._reusable(peer)
        if connection is not None:
            answer = await self._asked(connection, data, may_retry=True)
            if answer is not None:
                return answer
        connection = await self._connect(peer, connect_s)
        answer = await self._asked(connection, data, may_retry=False)
        assert answer is not None
        return answer

    async def aclose(self) -> None:
        self._closed = True
        for connection in list(self._open):
            connection.abort()
        # Two turns of the loop, so that the sockets are closed when this returns.
        loop = asyncio.get_running_loop()
        for _ in range(2):
            turned: asyncio.Future[None] = loop.create_future()
            loop.call_soon(turned.set_result, None)
            await turned

    async def _asked(self, connection: Connection, data: bytes, *, may_retry: bool) -> Answer | None:
        """The answer with its head; None: the connection was dead and nothing of the answer was seen."""
        answer = connection.ask(data)
        try:
            await answer.head()
        except httpx.TransportError:
            connection.abort()
            if may_retry and not answer.touched:
                return None
            raise
        except BaseException:
            connection.abort()
            raise
        return answer

    def _reusable(self, peer: _Peer) -> Connection | None:
        idle = self._idle.get(peer)
        now = asyncio.get_running_loop().time()
        while idle:
            # The newest first: the oldest grow too old and are dropped, so the pool shrinks when load does.
            connection = idle.pop()
            if not connection.closed and now - connection.idle_since < self._idle_s:
                return connection
            connection.abort()
        return None

    async def _connect(self, peer: _Peer, timeout_s: float | None) -> Connection:
        scheme, host, port = peer
        if scheme not in ("http", "https"):
            raise httpx.UnsupportedProtocol(f"scheme {scheme!r}")
        context = self._context() if scheme == "https" else None

        def made() -> Connection:
            return Connection(lambda c: self._free(peer, c), lambda c: self._lost(peer, c))

        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                _, connection = await asyncio.get_running_loop().create_connection(
                    made, host, port, ssl=context, server_hostname=host if context else None
                )
        except TimeoutError as error:
            # The system's own time-out is one too.
            raise httpx.ConnectTimeout("connect") from error
        except (OSError, ssl.SSLError) as error:
            raise httpx.ConnectError(type(error).__name__) from error
        self._open.add(connection)
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._ssl is None:
            self._ssl = httpx.create_ssl_context()
        return self._ssl

    def _free(self, peer: _Peer, connection: Connection) -> None:
        idle = self._idle.setdefault(peer, deque())
        if self._closed or len(idle) >= MAX_IDLE_PER_HOST:
            connection.abort()
            return
        now = asyncio.get_running_loop().time()
        connection.idle_since = now
        idle.append(connection)
        while now - idle[0].idle_since >= self._idle_s:
            idle.popleft().abort()

    def _lost(self, peer: _Peer, connection: Connection) -> None:
        self._open.discard(connection)
        idle = self._idle.get(peer)
        if idle is not None:
            with contextlib.suppress(ValueError):
                idle.remove(connection)


def wire(request: httpx.Request, content: bytes) -> bytes:
    """The request as bytes. Raises LocalProtocolError for what cannot be said safely."""
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"transfer-encoding"]
    if "content-length" not in request.headers and content:
        headers.append((b"content-length", b"%d" % len(content)))
    return head_of(request.method, request.url, headers) + b"\r\n" + content


_peer: type[Peer] = FastTransport

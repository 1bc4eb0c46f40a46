"""How an upstream is asked: one POST out, one reply in, over our own transport or any of httpx's.

httpx stays what tests and other transports speak; its Request, Response and Headers take 40 to 90 µs of every call
(measured), so our own transport is handed bytes. Errors are httpx's classes either way.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import httpx


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where one endpoint is asked, worked out once. `head`: the request's bytes up to the length of its body."""

    url: httpx.URL
    headers: tuple[tuple[str, str], ...]
    peer: tuple[str, str, int]
    """Scheme, host, port."""
    head: bytes

    def __repr__(self) -> str:
        return f"Address({str(self.url)!r})"


class Reply(Protocol):
    """One answer with its head. `parts` and `read` undo a content encoding; whoever stops early closes."""

    @property
    def status(self) -> int: ...

    def header(self, name: str) -> str:
        """By lower-case name; empty when absent."""

    def parts(self) -> AsyncIterator[bytes]: ...

    async def read(self) -> bytes: ...

    def tap(self, take: Callable[[bytes], bytes | None], straight: Callable[[bytes], bytes | None]) -> None:
        """Hand each read to `take` at once, without waking whoever waits for it in `parts`; what `take` returns wakes them.

        Waking a task costs another turn of the loop, as much as all else that a streamed event needs (measured). A reply
        that is read some other way goes on as before. `straight` is first offered what begins with a chunk of HTTP, frame and
        all; it answers as `take` does, or with the very same bytes: then it took nothing. It takes whole chunks, one or
        several, never the last.
        """

    async def aclose(self) -> None: ...


class Peer(Protocol):
    async def post(self, address: Address, content: bytes, connect_s: float) -> Reply:
        """Ask; `connect_s` in real seconds bounds the connecting alone. Raises httpx's exceptions."""


class StockPeer:
    """Any transport of httpx as a Peer."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def post(self, address: Address, content: bytes, connect_s: float) -> "StockReply":
        limits = {"timeout": {"connect": connect_s}}
        request = httpx.Request("POST", address.url, headers=list(address.headers), content=content, extensions=limits)
        return StockReply(await self._transport.handle_async_request(request))


class StockReply:
    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code

    def header(self, name: str) -> str:
        return str(self._response.headers.get(name, ""))

    def parts(self) -> AsyncIterator[bytes]:
        if self.header("content-encoding") not in PLAIN:
            return self._response.aiter_bytes()
        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        return self._response.stream.__aiter__()

    async def read(self) -> bytes:
        return await self._response.aread()

    def tap(self, take: Callable[[bytes], bytes | None], straight: Callable[[bytes], bytes | None]) -> None:
        """httpx reads by itself: nothing is to be tapped."""

    async def aclose(self) -> None:
        await self._response.aclose()


PLAIN = ("", "identity")


@lru_cache(maxsize=1024)
def address_of(url: str, api_key: str) -> Address:
    """Raises httpx.InvalidURL, and LocalProtocolError for a key that no header can carry."""
    headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        # A compressed stream arrives in lumps: the compressor waits for more.
        ("accept-encoding", "identity"),
        ("user-agent", "pointsman"),
    ]
    if api_key:
        headers.append(("authorization", f"Bearer {api_key}"))
    parsed = httpx.URL(url)
    try:
        request = httpx.Request("POST", parsed, headers=headers)
    except UnicodeEncodeError:
        raise httpx.LocalProtocolError("the API key holds characters that no header can carry") from None
    return Address(
        url=parsed,
        headers=tuple(headers),
        peer=(parsed.scheme, parsed.host, parsed.port or (443 if parsed.scheme == "https" else 80)),
        head=head_of("POST", parsed, [(n, v) for n, v in request.headers.raw if n.lower() != b"content-length"]),
    )


def head_of(method: str, url: httpx.URL, headers: list[tuple[bytes, bytes]]) -> bytes:
    """A request's first lines, without the blank one. Raises LocalProtocolError for what cannot be said safely."""
    if method not in ("GET", "POST"):
        raise httpx.LocalProtocolError(f"method {method}")
    parts = [b"%s %s HTTP/1.1\r\n" % (method.encode(), url.raw_path)]
    for name, value in headers:
        if b"\n" in value or b"\r" in value or b"\0" in value:
            # A key pasted with its line end would otherwise write headers of its own.
            raise httpx.LocalProtocolError("line break in a header")
        parts.append(b"%s: %s\r\n" % (name, value))
    return b"".join(parts)

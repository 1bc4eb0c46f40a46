"""Our transport and httpx's own, over the same raw server: whoever calls cannot tell them apart."""

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import uvloop

from base.clock import SystemClock
from upstream.call import Call, Endpoint, Timeouts
from upstream.client import Upstream
from upstream.errors import mapped
from upstream.peer import StockPeer, address_of
from upstream.transport import FastTransport, wire

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]
LOST_S = 60.0
"""What has not come by then does not come."""
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.fixture(params=[httpx.AsyncHTTPTransport, FastTransport], ids=["stock", "fast"])
async def transport(request: pytest.FixtureRequest) -> AsyncIterator[httpx.AsyncBaseTransport]:
    made = request.param()
    yield made
    await made.aclose()


@asynccontextmanager
async def raw(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that does what `handler` says with each connection."""
    tasks: set[asyncio.Task[None]] = set()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(run(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def asked(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    size = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    return await reader.readexactly(int(size[0].split(b":")[1])) if size else b""


def always(answer: bytes) -> Handler:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await asked(reader)
            writer.write(answer)
            await writer.drain()

    return handler


def once(answer: bytes) -> Handler:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asked(reader)
        writer.write(answer)
        await writer.drain()

    return handler


async def post(transport: httpx.AsyncBaseTransport, url: str, content: bytes = b"hi") -> tuple[int, bytes]:
    request = httpx.Request("POST", url, content=content, extensions={"timeout": {"connect": 2.0}})
    response = await transport.handle_async_request(request)
    try:
        return response.status_code, await response.aread()
    finally:
        await response.aclose()


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", id="length"),
        pytest.param(CHUNKED + b"2\r\nok\r\n3;x=y\r\nabc\r\n0\r\n\r\n", 200, b"okabc", id="chunks with an extension"),
        pytest.param(CHUNKED + b"1\r\no\r\n0\r\ntrailer: x\r\n\r\n", 200, b"o", id="chunks with a trailer"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", id="no body"),
        pytest.param(b"HTTP/1.1 429 X\r\ncontent-length: 0\r\n\r\n", 429, b"", id="empty body"),
        pytest.param(
            b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\no",
            200,
            b"o",
            id="early hints first",
        ),
    ],
)
async def test_a_framed_answer_is_read_and_its_connection_used_again(
    transport: httpx.AsyncBaseTransport, answer: bytes, status: int, body: bytes
) -> None:
    connections = 0

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await always(answer)(reader, writer)

    async with raw(handler) as url:
        for _ in range(3):
            assert await post(transport, url) == (status, body)
        assert connections == 1


async def test_an_answer_without_length_ends_with_its_connection(transport: httpx.AsyncBaseTransport) -> None:
    async with raw(once(b"HTTP/1.1 200 OK\r\n\r\nall of it")) as url:
        assert await post(transport, url) == (200, b"all of it")
        assert await post(transport, url) == (200, b"all of it")


async def test_connection_close_is_obeyed(transport: httpx.AsyncBaseTransport) -> None:
    async with raw(once(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok")) as url:
        for _ in range(3):
            assert await post(transport, url) == (200, b"ok")


async def test_an_idle_connection_that_the_peer_closed_is_replaced(transport: httpx.AsyncBaseTransport) -> None:
    async with raw(once(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")) as url:
        assert await post(transport, url) == (200, b"ok")
        await asyncio.sleep(0.05)
        assert await post(transport, url) == (200, b"ok")


async def test_a_connection_that_dies_as_it_is_used_again_is_replaced_once() -> None:
    connections = 0

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await asked(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await reader.readexactly(1)

    transport = FastTransport()
    async with raw(handler) as url:
        assert await post(transport, url) == (200, b"ok")
        assert await post(transport, url) == (200, b"ok")
        assert connections == 2
    await transport.aclose()


async def test_an_answer_before_the_request_is_all_sent_is_taken(transport: httpx.AsyncBaseTransport) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno")
        await writer.drain()
        await reader.read()

    async with raw(handler) as url:
        assert await post(transport, url, b"x" * 1_000_000) == (413, b"no")


WHOLE = CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"


@pytest.mark.parametrize("cut", range(len(WHOLE)))
async def test_an_answer_cut_anywhere_is_an_error_never_a_short_success(
    transport: httpx.AsyncBaseTransport, cut: int
) -> None:
    async with raw(once(WHOLE[:cut])) as url:
        with pytest.raises(httpx.TransportError) as caught:
            await post(transport, url)
        assert mapped(caught.value).fault == "broken_stream"


async def test_a_peer_that_half_closes_in_the_middle_of_a_body_is_an_error(transport: httpx.AsyncBaseTransport) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asked(reader)
        writer.write(CHUNKED + b"5\r\nhel")
        writer.write_eof()
        await reader.read()

    async with raw(handler) as url:
        with pytest.raises(httpx.TransportError):
            await asyncio.wait_for(post(transport, url), LOST_S)


async def test_a_kept_connection_that_the_peer_half_closed_is_not_asked_again(
    transport: httpx.AsyncBaseTransport,
) -> None:
    connections = 0

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await asked(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        writer.write_eof()
        await reader.read()

    async with raw(handler) as url:
        for _ in range(3):
            assert await asyncio.wait_for(post(transport, url), LOST_S) == (200, b"ok")
            await asyncio.sleep(0.02)
        assert connections == 3


async def test_long_headers_that_still_fit_are_read(transport: httpx.AsyncBaseTransport) -> None:
    long = b"".join(b"x-%d: %s\r\n" % (n, b"y" * 4_000) for n in range(7))
    async with raw(always(b"HTTP/1.1 200 OK\r\n" + long + b"content-length: 2\r\n\r\nok")) as url:
        response = await transport.handle_async_request(httpx.Request("POST", url, content=b"hi"))
        assert await response.aread() == b"ok" and len(response.headers["x-6"]) == 4_000
        await response.aclose()


async def test_an_answer_may_come_byte_by_byte(transport: httpx.AsyncBaseTransport) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asked(reader)
        for at in range(len(WHOLE)):
            writer.write(WHOLE[at : at + 1])
            await writer.drain()
            await asyncio.sleep(0)
        await reader.read()

    async with raw(handler) as url:
        assert await post(transport, url) == (200, b"hello")


@pytest.mark.parametrize("byte", [b"x", b"\xff"])
async def test_what_is_not_http_is_a_protocol_error(transport: httpx.AsyncBaseTransport, byte: bytes) -> None:
    async with raw(once(byte * 50 + b"\r\n\r\n")) as url:
        with pytest.raises(httpx.RemoteProtocolError):
            await post(transport, url)


async def test_huge_headers_are_refused(transport: httpx.AsyncBaseTransport) -> None:
    async with raw(once(b"HTTP/1.1 200 OK\r\n" + b"x-a: " + b"b" * 200_000)) as url:
        with pytest.raises(httpx.TransportError):
            await post(transport, url)


async def test_a_large_answer_is_read_whole_by_a_slow_reader(transport: httpx.AsyncBaseTransport) -> None:
    size = 3_000_000
    async with raw(always(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + b"z" * size)) as url:
        request = httpx.Request("POST", url, content=b"hi")
        for _ in range(2):
            response = await transport.handle_async_request(request)
            assert isinstance(response.stream, httpx.AsyncByteStream)
            got = 0
            async for part in response.stream:
                got += len(part)
                await asyncio.sleep(0.001)
            await response.aclose()
            assert got == size


async def test_letting_an_answer_go_closes_its_connection(transport: httpx.AsyncBaseTransport) -> None:
    closed = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asked(reader)
        writer.write(CHUNKED + b"1\r\na\r\n")
        await reader.read()
        closed.set()

    async with raw(handler) as url:
        response = await transport.handle_async_request(httpx.Request("POST", url, content=b"hi"))
        await response.aclose()
        await asyncio.wait_for(closed.wait(), LOST_S)


async def test_a_caller_who_is_cancelled_closes_the_connection(transport: httpx.AsyncBaseTransport) -> None:
    closed = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asked(reader)
        try:
            await reader.read()
        finally:
            closed.set()

    async with raw(handler) as url:
        task = asyncio.ensure_future(post(transport, url))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), LOST_S)


async def test_nobody_listening_is_a_connect_error(transport: httpx.AsyncBaseTransport) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(httpx.ConnectError):
            await post(transport, f"http://127.0.0.1:{free.getsockname()[1]}/")


async def test_a_peer_that_speaks_no_tls_is_a_connect_error() -> None:
    transport = FastTransport(verify=ssl.create_default_context())

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad\r\n\r\n")

    async with raw(handler) as url:
        with pytest.raises(httpx.ConnectError):
            await post(transport, url.replace("http:", "https:"))
    await transport.aclose()


@pytest.mark.parametrize("made", [httpx.AsyncHTTPTransport, FastTransport], ids=["stock", "fast"])
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_tls_is_spoken_kept_alive_and_verified_on_either_loop(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop], made: Callable[..., httpx.AsyncBaseTransport]
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    line = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate} -days 2"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*line.split(), *names], check=True, capture_output=True)
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate, key)
    connections = 0

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await always(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")(reader, writer)

    async def story() -> None:
        async with raw(handler, server_side) as url:
            url = url.replace("http://127.0.0.1", "https://localhost")
            trusting = made(verify=ssl.create_default_context(cafile=certificate))
            assert [await post(trusting, url) for _ in range(3)] == [(200, b"ok")] * 3
            assert connections == 1
            await trusting.aclose()
            strict = made()
            with pytest.raises(httpx.ConnectError):
                await post(strict, url)
            await strict.aclose()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(story())


async def test_many_calls_at_once_each_get_their_own_answer(transport: httpx.AsyncBaseTransport) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            said = await asked(reader)
            await asyncio.sleep(0.001)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(said), said))

    async with raw(handler) as url:
        said = [str(n).encode() for n in range(60)]
        assert [body for _, body in await asyncio.gather(*(post(transport, url, s) for s in said))] == said


def test_a_line_break_in_a_key_writes_no_header() -> None:
    request = httpx.Request("POST", "http://h/", headers=[(b"authorization", b"Bearer a\r\nx-evil: 1")])
    with pytest.raises(httpx.LocalProtocolError):
        wire(request, b"")


async def test_a_call_by_bytes_asks_what_a_call_by_httpx_asks() -> None:
    """The short way to our transport and the long way over httpx's records say the same."""
    seen: list[tuple[bytes, bytes]] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append((head, await reader.readexactly(5)))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")

    fast, stock = FastTransport(), httpx.AsyncHTTPTransport()
    async with raw(handler) as url:
        address = address_of(f"{url}/chat?a=%20b", "sk-1")
        for peer in (fast, StockPeer(fast), StockPeer(stock)):
            reply = await peer.post(address, b"hello", 2.0)
            assert (reply.status, await reply.read(), reply.header("connection")) == (200, b"ok", "close")
            await reply.aclose()
    await fast.aclose()
    await stock.aclose()
    lines = [(head.split(b"\r\n")[0], {line.lower() for line in head.split(b"\r\n")[1:]}, body) for head, body in seen]
    assert lines[0] == lines[1] == lines[2]


@pytest.mark.parametrize("made", [httpx.AsyncHTTPTransport, FastTransport], ids=["stock", "fast"])
async def test_a_peer_that_compresses_unasked_is_understood(made: Callable[..., httpx.AsyncBaseTransport]) -> None:
    packed = gzip.compress(b'{"choices": [{"message": {"content": "fine words"}, "finish_reason": "stop"}]}')
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n"
    transport = made()
    async with raw(always(head % len(packed) + packed)) as url:
        endpoint = Endpoint(base_url=url, upstream_model="m")
        attempt = await Upstream(transport, SystemClock()).complete(Call(body={}, stream=False), endpoint, Timeouts())
        assert attempt.fault is None and attempt.text == "fine words"
    await transport.aclose()

"""Clients that mean harm, over raw sockets: slow, endless, split, smuggled, injected. Others are served all the while."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.service import Running, running, settings_file

READ_S = 1.0
BODY = json.dumps({"model": "chat", "messages": [{"role": "user", "content": "hello"}]}).encode()
POST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    async with ScriptedUpstream() as upstream:
        file = settings_file(tmp_path_factory.mktemp("hostile"), upstream.base_url, request_read_s=READ_S)
        async with running(file) as up:
            yield up


class Raw:
    """One socket to the service."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def rest(self, within_s: float = 60.0) -> bytes:
        """All until the service closes; what came if it was reset."""
        got = b""
        try:
            while part := await asyncio.wait_for(self.reader.read(65536), within_s):
                got += part
        except ConnectionError:
            pass
        return got

    def close(self) -> None:
        self.writer.close()


async def dial(service: Running) -> Raw:
    host, port = service.url.removeprefix("http://").split(":")
    return Raw(*await asyncio.open_connection(host, int(port)))


async def served(service: Running) -> None:
    async with httpx.AsyncClient(timeout=20) as client:
        answer = await client.post(f"{service.url}/v1/chat/completions", content=BODY)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "start",
    [b"", b"POST /v1/chat", POST, POST + b"content-length: 500\r\n\r\n{", POST + b"transfer-encoding: chunked\r\n\r\n5\r\n{"],
    ids=["nothing", "half a line", "half a head", "half a body", "half a chunk"],
)  # fmt: skip
async def test_a_request_that_never_arrives_is_ended(service: Running, start: bytes) -> None:
    raw = await dial(service)
    await raw.send(start)
    told = await raw.rest()
    raw.close()
    assert not told or b" 408 " in told.split(b"\r\n")[0]
    assert b"request_timeout" in told or not start
    await served(service)


async def test_many_slow_clients_keep_nobody_out(service: Running) -> None:
    slow = [await dial(service) for _ in range(200)]
    for raw in slow:
        await raw.send(POST + b"x: ")
    await served(service)
    assert all(b" 408 " in told for told in await asyncio.gather(*(raw.rest() for raw in slow)))
    for raw in slow:
        raw.close()


async def test_dripping_bytes_buy_no_time(service: Running) -> None:
    raw = await dial(service)
    sent = 0
    for byte in POST + b"x-y: " + b"z" * 2_000:
        try:
            await raw.send(bytes([byte]))
        except ConnectionError:
            break
        sent += 1
        await asyncio.sleep(READ_S / 20)
        if raw.reader.at_eof() or raw.reader._buffer:  # type: ignore[attr-defined]
            break
    assert b" 408 " in await raw.rest()
    assert sent < 100
    raw.close()


@pytest.mark.parametrize("one", [True, False], ids=["one long header", "many headers"])
async def test_endless_headers_are_refused(service: Running, one: bool) -> None:
    raw = await dial(service)
    part = b"a" * 4096 if one else b"x-many: 1\r\n" * 400
    try:
        await raw.send(POST + (b"x-long: " if one else b""))
        for _ in range(200):
            await raw.send(part)
    except ConnectionError:
        pass
    told = await raw.rest()
    raw.close()
    assert not told or b" 431 " in told
    await served(service)


@pytest.mark.parametrize(
    "head",
    [
        b"content-length: 5\r\ntransfer-encoding: chunked\r\n",
        b"content-length: 5\r\ncontent-length: 6\r\n",
        b"content-length: -1\r\n",
        b"content-length: 5, 6\r\n",
        b"transfer-encoding: chunked, identity\r\n",
        b"transfer-encoding: xchunked\r\n",
        b"transfer-encoding : chunked\r\n",
        b"content-length: 0x10\r\n",
        b" content-length: 5\r\n",
        b"x: a\x00b\r\n",
    ],
)
async def test_a_request_framed_in_two_ways_is_refused_and_what_follows_is_not_read(
    service: Running, head: bytes
) -> None:
    raw = await dial(service)
    await raw.send(POST + head + b"\r\n0\r\n\r\nGET /v1/models HTTP/1.1\r\nhost: smuggled\r\n\r\n")
    told = await raw.rest()
    raw.close()
    assert told.startswith(b"HTTP/1.1 4"), told[:200]
    assert told.count(b"HTTP/1.1 ") == 1
    assert b'"object":"list"' not in told
    await served(service)


async def test_a_header_value_cannot_bring_a_header_into_the_answer(service: Running) -> None:
    async with httpx.AsyncClient(timeout=20) as client:
        for name in ("x-request-id", "x-pointsman-session", "x-pointsman-scene", "x-pointsman-fallback"):
            answer = await client.post(
                f"{service.url}/v1/chat/completions",
                content=BODY,
                headers=[(name.encode(), "a\x85x-injected: 1\u2028y".encode())],
            )
            assert "x-injected" not in answer.headers
            assert answer.status_code in (200, 400)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
async def test_a_packed_body_is_not_unpacked(service: Running, coding: str) -> None:
    async with httpx.AsyncClient(timeout=20) as client:
        answer = await client.post(
            f"{service.url}/v1/chat/completions",
            content=b"\x1f\x8b" + b"\x00" * 100,
            headers={"content-encoding": coding},
        )
    assert answer.status_code in (400, 415)
    assert answer.json()["error"]["message"]


async def test_a_body_over_the_limit_is_refused_before_it_is_read(service: Running) -> None:
    raw = await dial(service)
    await raw.send(POST + b"content-length: 99999999999\r\n\r\n")
    told = await asyncio.wait_for(raw.reader.readuntil(b"\r\n\r\n"), 60)
    raw.close()
    assert b" 413 " in told


async def test_two_requests_in_one_write_get_two_answers_in_order(service: Running) -> None:
    raw = await dial(service)
    one = POST + b"content-length: %d\r\n\r\n" % len(BODY) + BODY
    await raw.send(one + b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    told = await raw.rest(20)
    raw.close()
    assert told.count(b"HTTP/1.1 200 OK") == 2
    assert told.rindex(b'"status":"ok"') > told.index(b'"choices"')

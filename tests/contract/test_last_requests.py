"""Requests that come in the moment in which their connection is closed: they are answered, not reset."""

import asyncio
import select
import socket
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from pointsman.accepting import Acceptor, Client
from pointsman.wire_limits import LimitedProtocol

GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
LOST_S = 60.0
"""Longer than any machine takes: what has not come by then does not come."""


async def ok(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


class Service:
    """A listening socket, and the protocols of those that were let in."""

    def __init__(self, listening: socket.socket) -> None:
        self.address = listening.getsockname()
        self.inside: list[LimitedProtocol] = []
        self._config = uvicorn.Config(ok, ws="none", lifespan="off", log_config=None)
        self._config.load()
        self.acceptor = Acceptor(listening, self._client)

    def _client(self) -> Client:
        made = LimitedProtocol(self._config, ServerState(), {}, read_s=600.0)
        self.inside.append(made)
        return cast(Client, made)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Service(listening)
        yield made
        made.acceptor.close()
        await made.acceptor.wait_closed()
        for one in made.inside:
            one.transport.close()
        await asyncio.sleep(0)


async def answer(client: socket.socket) -> bytes:
    """What comes next; empty: the connection was closed. Raises ConnectionResetError."""
    async with asyncio.timeout(LOST_S):
        return await asyncio.get_running_loop().sock_recv(client, 1000)


def arrived(protocol: LimitedProtocol) -> None:
    """Wait for what was sent without a turn of the loop: a busy kernel may deliver it later, also on this machine."""
    sock = protocol.transport.get_extra_info("socket")
    assert select.select([sock.fileno()], [], [], LOST_S)[0]


async def inside(service: Service) -> tuple[socket.socket, LimitedProtocol]:
    """A client that was answered once and keeps its connection."""
    client = socket.create_connection(service.address)
    client.setblocking(False)
    client.sendall(GET)
    assert b" 204 " in await answer(client)
    return client, service.inside[-1]


@pytest.mark.parametrize("end", ["shutdown", "timeout_keep_alive_handler", "_too_slow"])
async def test_a_request_that_is_here_and_not_yet_read_is_answered(service: Service, end: str) -> None:
    service.acceptor.start()
    client, protocol = await inside(service)
    client.sendall(GET)
    arrived(protocol)  # no turn of the loop since
    getattr(protocol, end)()
    told = await answer(client)
    assert b" 204 " in told
    assert (b"connection: close" in told) is (end == "shutdown")
    client.close()


@pytest.mark.parametrize("end", ["shutdown", "timeout_keep_alive_handler"])
async def test_an_idle_connection_is_closed_at_once(service: Service, end: str) -> None:
    service.acceptor.start()
    client, protocol = await inside(service)
    getattr(protocol, end)()
    assert await answer(client) == b""
    client.close()


async def test_a_request_that_is_late_is_not_looked_for_twice(service: Service) -> None:
    service.acceptor.start()
    client, protocol = await inside(service)
    protocol.transport.pause_reading()
    client.sendall(GET[:5])
    arrived(protocol)
    protocol._too_slow()
    assert not protocol.transport.is_closing()
    protocol._too_slow()
    assert protocol.transport.is_closing()
    assert b" 408 " in await answer(client)
    client.close()


async def test_who_waits_to_be_let_in_when_the_service_ends_is_answered_and_told_to_come_no_more(
    service: Service,
) -> None:
    service.acceptor.start()
    clients = [socket.create_connection(service.address) for _ in range(3)]
    for client in clients:
        client.setblocking(False)
    clients[0].sendall(GET)
    service.acceptor.close()
    clients[1].sendall(GET)
    told = await asyncio.gather(*map(answer, clients))
    assert b" 204 " in told[0] and b" 204 " in told[1]
    assert told[2] == b""  # it sent nothing in the time that it had
    for client in clients:
        client.close()

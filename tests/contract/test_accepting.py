"""How connections are taken off a listening socket: all that wait, and no spinning where there is no room."""

import asyncio
import errno
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from pointsman.accepting import A_TURN, Acceptor, Client

CROWD = 3 * A_TURN


class Echo(Client, asyncio.Protocol):
    def __init__(self, made: list["Echo"]) -> None:
        self.asked_to_end = False
        made.append(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)

    def shutdown(self) -> None:
        self.asked_to_end = True
        self.transport.close()


class Listening:
    """A listening socket of which `accept` first raises what it is given."""

    def __init__(self, real: socket.socket, errors: list[int]) -> None:
        self._real, self._errors, self.accepts = real, errors, 0

    def accept(self) -> tuple[socket.socket, Any]:
        self.accepts += 1
        if self._errors:
            raise OSError(number := self._errors.pop(0), errno.errorcode[number])
        return self._real.accept()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=2 * CROWD) as made:
        yield made


def dialled(listening: socket.socket, count: int) -> list[socket.socket]:
    """Clients that the kernel has connected and nobody has accepted yet."""
    made = [socket.create_connection(listening.getsockname()) for _ in range(count)]
    for client in made:
        client.setblocking(False)
    return made


async def echoed(client: socket.socket) -> bytes:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(60):
        await loop.sock_sendall(client, b"hello")
        return await loop.sock_recv(client, 100)


async def test_a_crowd_that_connects_at_once_is_let_in_within_a_few_turns(listening: socket.socket) -> None:
    made: list[Echo] = []
    clients = dialled(listening, CROWD)
    acceptor = Acceptor(listening, lambda: Echo(made))
    acceptor.start()
    for _ in range(2 * (CROWD // A_TURN) + 4):
        await asyncio.sleep(0)
    assert len(made) == CROWD
    assert await asyncio.gather(*map(echoed, clients)) == [b"hello"] * CROWD
    assert all(
        one.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in made
    )
    acceptor.close()
    await acceptor.wait_closed()
    for client in clients:
        client.close()


async def test_one_turn_takes_no_more_than_its_part_so_that_those_inside_are_served(listening: socket.socket) -> None:
    told = Listening(listening, [])
    clients = dialled(listening, CROWD)
    acceptor = Acceptor(told, lambda: Echo([]))  # type: ignore[arg-type]
    listening.setblocking(False)
    acceptor._ready()
    assert told.accepts == A_TURN
    await acceptor.wait_closed()
    for client in clients:
        client.close()


async def test_without_room_for_files_it_pauses_says_so_once_and_goes_on(
    listening: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[Echo] = []
    told = Listening(listening, [errno.EMFILE, errno.EMFILE, errno.ENOBUFS])
    acceptor = Acceptor(told, lambda: Echo(made))  # type: ignore[arg-type]
    [client] = dialled(listening, 1)
    with caplog.at_level(logging.ERROR):
        acceptor.start()
        assert await echoed(client) == b"hello"
    assert told.accepts == 5, "three refusals, one connection, nobody else: it did not spin while it waited"
    assert len(caplog.records) == 1 and "open files" in caplog.text
    acceptor.close()
    client.close()


async def test_a_connection_that_broke_in_the_queue_does_not_hold_up_the_next(listening: socket.socket) -> None:
    acceptor = Acceptor(Listening(listening, [errno.ECONNABORTED, errno.EPROTO]), lambda: Echo([]))  # type: ignore[arg-type]
    [client] = dialled(listening, 1)
    acceptor.start()
    assert await echoed(client) == b"hello"
    acceptor.close()
    client.close()


async def test_after_close_nobody_is_let_in_and_who_was_on_the_way_is_sent_away(listening: socket.socket) -> None:
    made: list[Echo] = []
    [client] = dialled(listening, 1)
    acceptor = Acceptor(listening, lambda: Echo(made))
    listening.setblocking(False)
    acceptor.start()
    acceptor._ready()  # accepted, and not yet opened
    acceptor.close()
    acceptor.close()
    await acceptor.wait_closed()
    assert [one.asked_to_end for one in made] == [True]
    later = dialled(listening, 1)[0]
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(made) == 1
    client.close()
    later.close()


async def test_closing_while_it_pauses_leaves_no_timer_behind(listening: socket.socket) -> None:
    acceptor = Acceptor(Listening(listening, [errno.EMFILE]), lambda: Echo([]))  # type: ignore[arg-type]
    listening.setblocking(False)
    acceptor.start()
    acceptor._ready()
    acceptor.close()
    assert acceptor._paused is not None and acceptor._paused.cancelled()

"""A test that ends leaves no connection behind: what servers accepted is closed, what a client forgot is told."""

import asyncio
import contextlib
import gc
import socket

import pytest

from tests.support.loops import LeftOpen, TidyLoop


async def _deaf() -> asyncio.Server:
    """A server that never closes what it accepts."""
    return await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)


@pytest.mark.parametrize("turns", range(6))
def test_whatever_a_server_accepted_is_closed_however_early_the_loop_ends(turns: int) -> None:
    async def story() -> None:
        server = await _deaf()
        peer.connect(server.sockets[0].getsockname())
        for _ in range(turns):
            await asyncio.sleep(0)
        server.close()

    with socket.socket() as peer:
        peer.settimeout(60)
        with asyncio.Runner(loop_factory=TidyLoop) as runner:
            runner.run(story())
        with contextlib.suppress(ConnectionResetError):  # never accepted
            assert peer.recv(1) == b""
    gc.collect()  # a socket left behind would be told here, and warnings are errors


def test_an_answer_that_nobody_reads_holds_nothing_up() -> None:
    async def flood(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * 50_000_000)
        writer.close()
        written.set()

    async def story() -> None:
        server = await asyncio.start_server(flood, "127.0.0.1", 0)
        peer.connect(server.sockets[0].getsockname())
        await written.wait()
        server.close()

    written = asyncio.Event()
    with socket.socket() as peer, asyncio.Runner(loop_factory=TidyLoop) as runner:
        runner.run(story())
        runner.close()
    gc.collect()


def test_a_connection_that_a_client_forgot_fails_the_test_that_opened_it() -> None:
    async def story() -> None:
        server = await _deaf()
        kept.append(await asyncio.open_connection(*server.sockets[0].getsockname()))
        server.close()

    kept: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    runner = asyncio.Runner(loop_factory=TidyLoop)
    runner.run(story())
    with pytest.raises(LeftOpen, match="1 connections"):
        runner.close()
    kept.clear()
    gc.collect()

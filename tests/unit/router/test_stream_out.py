"""What is written to a client without waiting, and what becomes of it when the client reads slowly."""

import asyncio
from typing import Any

from router.stream_out import SseOut
from tests.support.router_world import World


class Client:
    """An ASGI `send` that waits, before it writes, for as long as `room` is not set."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.room = asyncio.Event()
        self.room.set()

    async def send(self, message: Any) -> None:
        await self.room.wait()
        self.got.append(message.get("body", b""))


async def opened(client: Client) -> SseOut:
    out = SseOut(client.send, World().deps)
    await out.start(())
    client.got.clear()
    return out


async def test_events_of_one_read_are_written_at_once_and_in_one_piece() -> None:
    client = Client()
    out = await opened(client)
    out.events([b"1", b"2"])
    assert client.got == [b"data: 1\n\ndata: 2\n\n"]
    assert out.free
    out.close()


async def test_an_event_that_came_in_several_lines_goes_on_as_lines_of_one_event() -> None:
    client = Client()
    out = await opened(client)
    out.events([b'{"a":\n1}', b"2"])
    await out.event(b"3\n4")
    assert client.got == [b'data: {"a":\ndata: 1}\n\ndata: 2\n\n', b"data: 3\ndata: 4\n\n"]
    out.close()


async def test_what_a_slow_client_cannot_take_is_written_later_and_before_all_else() -> None:
    client = Client()
    out = await opened(client)
    client.room.clear()
    out.events([b"1"])
    assert client.got == []
    later = asyncio.create_task(out.event(b"2"))
    await asyncio.sleep(0)
    assert client.got == []
    client.room.set()
    await later
    assert client.got == [b"data: 1\n\n", b"data: 2\n\n"]
    assert out.free
    client.got.clear()
    client.room.clear()
    out.events([b"3"])
    client.room.set()
    await out.done()
    await out.end()
    assert client.got == [b"data: 3\n\n", b"data: [DONE]\n\n", b""]


async def test_a_client_that_leaves_meanwhile_leaves_nothing_behind() -> None:
    client = Client()
    out = await opened(client)
    client.room.clear()
    out.events([b"1"])
    await asyncio.sleep(0)
    out.close()
    await asyncio.sleep(0)
    assert client.got == []

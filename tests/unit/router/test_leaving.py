"""A client that hangs up is noticed, and one that stays costs nothing and leaves nothing behind."""

import asyncio
from typing import Any

from router.leaving import Leaving


class Client:
    """An ASGI `receive` that gives the rest of a request, then waits for the client to go."""

    def __init__(self, *first: str) -> None:
        self.first = list(first)
        self.went = asyncio.Event()
        self.waiting = 0

    async def receive(self) -> dict[str, Any]:
        if self.first:
            await asyncio.sleep(0)
            return {"type": self.first.pop(0)}
        self.waiting += 1
        try:
            await self.went.wait()
        finally:
            self.waiting -= 1
        return {"type": "http.disconnect"}


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_client_that_goes_is_told_once() -> None:
    client, told = Client("http.request", "http.request"), []
    leaving = Leaving(client.receive, lambda: told.append("gone"))
    await turns()
    assert (client.waiting, told) == (1, [])
    client.went.set()
    await turns()
    assert told == ["gone"]
    leaving.stop()


async def test_one_that_went_before_is_told_at_once() -> None:
    client, told = Client("http.disconnect"), []
    client.first = []
    client.went.set()
    Leaving(client.receive, lambda: told.append("gone"))
    assert told == ["gone"]


async def test_after_the_answer_nobody_is_told_and_nothing_waits() -> None:
    client, told = Client(), []
    leaving = Leaving(client.receive, lambda: told.append("gone"))
    assert client.waiting == 1
    leaving.stop()
    assert client.waiting == 0
    client.went.set()
    await turns()
    assert told == []


async def test_one_that_goes_in_the_same_turn_in_which_the_answer_ends_is_not_told() -> None:
    client, told = Client(), []
    leaving = Leaving(client.receive, lambda: told.append("gone"))
    client.went.set()
    leaving.stop()
    await turns()
    assert told == []

"""A client that leaves, or reads slowly: what that costs the upstream and us, in every phase of a request."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from router.topology import Model, Topology
from tests.support.raw_upstream import Bytes, RawUpstream, chunk, raw_world
from tests.support.router_world import World
from upstream.call import Endpoint, Timeouts

FINE = "The ferry leaves at nine and the wind is from the west."
PATIENT = Timeouts(connect_s=300, first_text_s=300, idle_s=300, total_s=300)
LOST_S = 60.0
"""Longer than any machine takes, shorter than any limit of ours: what has not come by then does not come."""
DONE = b"data: [DONE]\n\n"


class Client:
    """Sends one request; takes what comes while `reads` is set; is gone once it left."""

    def __init__(self, world: World, *, streamed: bool = True) -> None:
        self.got = b""
        self.reads = asyncio.Event()
        self.reads.set()
        self._gone = asyncio.Event()
        body = {"model": "main", "messages": [{"role": "user", "content": "x"}], "stream": streamed}
        self._sent = json.dumps(body).encode()
        scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": []}
        self.serving = asyncio.create_task(world.app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._sent:
            body, self._sent = self._sent, b""
            return {"type": "http.request", "body": body}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.reads.wait()
        self.got += message.get("body", b"")

    async def leave(self) -> None:
        self._gone.set()
        async with asyncio.timeout(LOST_S):
            await self.serving


async def within(limit_s: float, true: Callable[[], object]) -> None:
    for _ in range(int(limit_s * 200)):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"not within {limit_s} s")


def at(world: World, port: int, *names: str) -> None:
    """Let these models live behind another port."""
    old = world.deps.topology
    moved = {n: Endpoint(base_url=f"http://127.0.0.1:{port}/v1", upstream_model=n) for n in names}
    models = {n: Model(name=n, vendor=n, endpoints=(e,)) for n, e in moved.items()}
    world.deps.topology = Topology(models={**old.models, **models}, routes=old.routes)


SUSPECT = "again and again and " * 3
PHASES: dict[str, tuple[bool, Bytes, Callable[[Client, RawUpstream], object]]] = {
    "half of a whole reply": (
        False,
        Bytes(parts=[b'{"choices": [{"mess'], kind="application/json", then="stall"),
        lambda client, raw: raw.asked,
    ),
    "keep-alives only": (True, Bytes(parts=[b": wait\n\n"], then="beat"), lambda client, raw: raw.asked),
    "no words yet": (True, Bytes(parts=[chunk({"role": "assistant"})], then="stall"), lambda client, raw: raw.asked),
    "in the middle": (
        True,
        Bytes(parts=[chunk({"content": FINE})], then="stall"),
        lambda client, raw: FINE.encode() in client.got,
    ),
    "while text is held": (
        True,
        Bytes(parts=[chunk({"content": FINE}), chunk({"content": SUSPECT})], then="stall"),
        lambda client, raw: FINE.encode() in client.got,
    ),
    "in the middle of a thought": (
        True,
        Bytes(parts=[chunk({"reasoning_content": FINE})], then="stall"),
        lambda client, raw: FINE.encode() in client.got,
    ),
}


@pytest.mark.parametrize("phase", PHASES)
async def test_leaving_lets_the_upstream_go_within_a_second(phase: str) -> None:
    streamed, answer, begun = PHASES[phase]
    async with raw_world({"a": answer}, names="a", timeouts=PATIENT) as (world, raw):
        client = Client(world, streamed=streamed)
        await within(LOST_S, lambda: begun(client, raw))
        await client.leave()
        await within(LOST_S, lambda: raw.left)
        assert world.guard.outcomes == ["a:not_counted"], "a client that leaves is no illness of the model"
        assert (world.log.calls[0].status, world.log.calls[0].code) == (499, "abandoned")


async def test_leaving_while_a_second_model_is_asked_lets_that_one_go() -> None:
    answers = {"a": Bytes(parts=[b"{}"], status=500), "b": Bytes(parts=[b": wait\n\n"], then="stall")}
    async with raw_world(answers, names="ab", timeouts=PATIENT) as (world, raw):
        client = Client(world)
        await within(LOST_S, lambda: raw.asked == ["a", "b"])
        await client.leave()
        await within(LOST_S, lambda: raw.left)
        assert world.guard.outcomes == ["a:failed", "b:not_counted"]


@asynccontextmanager
async def mute() -> AsyncIterator[tuple[int, list[str]]]:
    """A peer that takes a request and never says a word; what it saw of each reader."""
    seen: list[str] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        seen.append("asked")
        while await reader.read(65_536):
            pass
        seen.append("left")
        writer.close()

    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], seen
    finally:
        server.close()


@pytest.mark.parametrize("streamed", [True, False])
async def test_leaving_before_the_head_of_an_answer_lets_the_upstream_go(streamed: bool) -> None:
    async with raw_world({}, names="a", timeouts=PATIENT) as (world, _), mute() as (port, seen):
        at(world, port, "a")
        client = Client(world, streamed=streamed)
        await within(LOST_S, lambda: seen)
        await client.leave()
        await within(LOST_S, lambda: seen == ["asked", "left"])


@pytest.mark.parametrize("streamed", [True, False])
async def test_leaving_while_we_connect_ends_the_request(streamed: bool) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        try:
            async with raw_world({}, names="a", timeouts=PATIENT) as (world, _):
                at(world, port, "a")
                client = Client(world, streamed=streamed)
                await within(LOST_S, lambda: not client._sent)
                await asyncio.sleep(0.02)
                assert not client.serving.done(), "still connecting"
                await client.leave()
                assert world.log.calls[0].code == "abandoned"
        finally:
            for one in waiting:
                one.close()


async def test_leaving_while_every_endpoint_rests_makes_no_call() -> None:
    async with raw_world({"a": Bytes(parts=[])}, names="a", timeouts=PATIENT) as (world, raw):
        world.deps.rests.rest("a", 0, world.deps.clock.now_s() + 4)
        client = Client(world)
        await within(LOST_S, lambda: not client._sent)
        await client.leave()
        assert raw.asked == [] and world.log.calls[0].code == "abandoned"


WORDS = [f"word {n} of a long and quiet story about the sea, " + "x" * 16_000 for n in range(4_000)]


class Counted:
    """Events made one by one, so that it is known how many the upstream could get rid of."""

    def __init__(self) -> None:
        self.made = 0

    def __len__(self) -> int:
        return len(WORDS)

    def __iter__(self) -> Any:
        for word in WORDS:
            self.made += 1
            yield chunk({"content": word})
        yield chunk({}, "stop")
        yield DONE


async def test_a_client_that_reads_slowly_holds_the_upstream_back_and_costs_no_memory() -> None:
    story = Counted()
    answer = Bytes(parts=story)  # type: ignore[arg-type]
    async with raw_world({"a": answer}, names="a", timeouts=PATIENT) as (world, raw):
        client = Client(world)
        await within(LOST_S, lambda: client.got)
        client.reads.clear()
        still, before = 0, -1
        while still < 40:
            await asyncio.sleep(0.01)
            still, before = (still + 1, before) if story.made == before else (0, story.made)
        # 64 MB are to come; what may be under way is what the two sockets hold, and half a megabyte of ours.
        assert story.made * 16_000 < 24_000_000
        await client.leave()
        await within(LOST_S, lambda: raw.left), "also a client that does not read may leave"

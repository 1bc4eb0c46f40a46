"""Models that send exactly the bytes a test wrote, over real sockets, and a router over them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from base.clock import SystemClock
from router.topology import Candidate, Model, Route, Topology
from tests.support.router_world import World
from upstream.call import Endpoint, Timeouts
from upstream.client import Upstream
from upstream.transport import FastTransport

QUICK = Timeouts(connect_s=1.0, first_text_s=1.5, idle_s=1.2, total_s=8.0)
"""So long that a busy machine is not taken for a silent model, so short that a test can wait for it."""


@dataclass(frozen=True, kw_only=True)
class Bytes:
    """One scripted answer. `parts` are written one by one; `then`: `end`, `stall`, `reset`, or `beat` (its last part for ever)."""

    parts: Sequence[bytes]
    status: int = 200
    kind: str = "text/event-stream"
    then: str = "end"
    head: str = ""
    """One more header line."""
    before_last: asyncio.Event | None = None
    """Waited for before the last part, so that a test can know what was read by then."""


def whole(body: Any, status: int = 200, **more: Any) -> Bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Bytes(parts=[data], status=status, kind=more.pop("kind", "application/json"), **more)


def message(text: str | None, *, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A whole reply in OpenAI's shape."""
    said = {"role": "assistant", "content": text, **more}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "said",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }


def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    """One event; `delta` None: `choices: []`."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    body = {"id": "s", "object": "chat.completion.chunk", "created": 1, "model": "said", "choices": choices, **more}
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def stream(*texts: str, finish: str | None = "stop", then: str = "end", done: bool = True) -> Bytes:
    parts = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": t}) for t in texts)]
    if finish is not None:
        parts += [chunk({}, finish), *([b"data: [DONE]\n\n"] if done else [])]
    return Bytes(parts=parts, then=then)


@dataclass
class RawUpstream:
    """`answers` by upstream model: bytes for streams and whole replies alike, or a function of the request's body."""

    answers: dict[str, Bytes | Callable[[dict[str, Any]], Bytes]]
    asked: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    left: int = 0
    """Readers that went away before the end."""
    port: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            body = json.loads(await reader.readexactly(int(lengths[0].partition(b":")[2])))
            self.asked.append(body["model"])
            self.bodies.append(body)
            answer = self.answers[body["model"]]
            await self._write(answer if isinstance(answer, Bytes) else answer(body), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left += 1
        finally:
            writer.close()

    async def _write(self, answer: Bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {answer.status} X\r\ncontent-type: {answer.kind}\r\ntransfer-encoding: chunked\r\n"
        head += f"{answer.head}\r\n" if answer.head else ""
        writer.write(head.encode() + b"connection: close\r\n\r\n")
        for n, part in enumerate(answer.parts, 1):
            if answer.before_last is not None and n == len(answer.parts):
                await answer.before_last.wait()
            await self._part(part, reader, writer)
        while answer.then in ("stall", "beat"):
            if answer.then == "beat":
                await self._part(answer.parts[-1], reader, writer)
            if reader.at_eof():
                raise ConnectionResetError
            await asyncio.sleep(0.005)
        if answer.then == "reset":
            writer.transport.abort()
            return
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    @staticmethod
    async def _part(part: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if reader.at_eof():
            raise ConnectionResetError
        writer.write(b"%x\r\n%s\r\n" % (len(part), part))
        await writer.drain()
        await asyncio.sleep(0)  # each part is a write of its own


@asynccontextmanager
async def raw_world(
    answers: Mapping[str, Bytes | Callable[[dict[str, Any]], Bytes]],
    *,
    names: Sequence[str] = ("a", "b", "c"),
    refused: Sequence[str] = (),
    timeouts: Timeouts = QUICK,
    priorities: Mapping[str, int] | None = None,
    **route: Any,
) -> AsyncIterator[tuple[World, RawUpstream]]:
    """A router in this process over models behind sockets; `refused` models have nobody listening."""
    raw = RawUpstream(dict(answers))
    server = await asyncio.start_server(raw.accept, "127.0.0.1", 0)
    raw.port = server.sockets[0].getsockname()[1]
    nobody = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    gone = nobody.sockets[0].getsockname()[1]
    nobody.close()
    transport = FastTransport()
    world = World(names=names, spares=())
    models = {
        n: Model(
            name=n,
            vendor=n,
            endpoints=(
                Endpoint(base_url=f"http://127.0.0.1:{gone if n in refused else raw.port}/v1", upstream_model=n),
            ),
            capabilities=frozenset({"prefill"}),
        )
        for n in names
    }
    ordered = {n: i for i, n in enumerate(names)} if priorities is None else priorities
    candidates = tuple(Candidate(model=n, weight=1, priority=ordered[n]) for n in names)
    main = Route(name="main", candidates=candidates, timeouts=timeouts, **route)
    world.deps.topology = Topology(models=models, routes={"main": main})
    world.deps.clock = SystemClock()
    world.deps.models = Upstream(transport, world.deps.clock)
    try:
        yield world, raw
    finally:
        await transport.aclose()
        await raw.stop()
        server.close()

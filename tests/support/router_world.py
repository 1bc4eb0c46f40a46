"""A router over scripted models: what they say is a list, what the client gets is read back whole."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from base.faults import Fault
from breaker.levels import Level
from breaker.share import shares
from breaker.snapshot import Snapshot
from detector.verdict import Health, LoopClass, Rule, Verdict
from fallback_phrases.catalog import load
from router.api import RouterApp, build_app
from router.auth import Keys
from router.journey import Deps
from router.policy import RouterPolicy
from router.ports import CallRow, FailedReply
from router.topology import Candidate, Model, Route, Topology
from tests.support.clock import ManualClock
from upstream.attempt import Attempt, Piece, Usage
from upstream.call import Call, Endpoint, Timeouts
from upstream.stream import Sink

CATALOG = load()
LOOPED = Verdict(
    health=Health.DEGENERATE,
    loop_class=LoopClass.PHRASE_LOOP,
    rules=(Rule.CYCLE,),
    unit="again and ",
    repeats=9,
    start=10,
    end=100,
    onset=20,
    fingerprint=7,
)


@dataclass(frozen=True, kw_only=True)
class Says:
    """One scripted attempt. `pieces` are the text deltas of a stream; `hang`: never ends; `tools`: one tool call."""

    text: str = "hello there"
    fault: Fault | None = None
    status: int = 200
    pieces: Sequence[str] | None = None
    reasoning: str = ""
    tools: bool = False
    hang: bool = False
    retry_after_s: float | None = None
    error: Mapping[str, Any] | None = None
    detail: str = ""
    finish: str = "stop"
    unread_s: float = 0.0
    """Of the 0.1 s that each attempt takes."""
    calls: Sequence[Mapping[str, Any]] = ()
    """Tool calls of a whole reply."""


def looped(text: str = "", pieces: Sequence[str] = ()) -> Says:
    return Says(text=text, pieces=list(pieces), fault=Fault.REPETITION)


def down(fault: Fault = Fault.SERVER_ERROR, **more: Any) -> Says:
    return Says(text="", pieces=more.pop("pieces", []), fault=fault, status=500, **more)


@dataclass(kw_only=True)
class ScriptedModels:
    """Each upstream model's replies in order; the last is said for ever. `asked` keeps what came in."""

    scripts: Mapping[str, deque[Says]]
    asked: list[tuple[str, Call, Timeouts]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    def _next(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Says:
        self.asked.append((endpoint.upstream_model, call, timeouts))
        script = self.scripts[endpoint.upstream_model]
        return script.popleft() if len(script) > 1 else script[0]

    async def complete(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Attempt:
        says = self._next(call, endpoint, timeouts)
        if says.hang:
            try:
                await asyncio.Event().wait()
            finally:
                self.closed.append(endpoint.upstream_model)
        return attempt_of(says, endpoint, stream=False)

    def stream(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> "ScriptedStream":
        return ScriptedStream(self._next(call, endpoint, timeouts), endpoint, self)


class ScriptedStream:
    def __init__(self, says: Says, endpoint: Endpoint, owner: ScriptedModels) -> None:
        self.attempt: Attempt | None = None
        self._says, self._endpoint, self._owner = says, endpoint, owner

    async def __aiter__(self) -> AsyncIterator[Piece]:
        says = self._says
        parts = [says.text] if says.pieces is None else says.pieces
        if says.reasoning or says.tools or any(parts):
            yield self._piece({"role": "assistant", "content": ""})
        if says.reasoning:
            yield self._piece({"reasoning_content": says.reasoning}, reasoning=says.reasoning)
        if says.tools:
            yield self._piece({"tool_calls": [{"index": 0, "id": "t", "function": {"name": "f"}}]}, tools=True)
        for part in parts:
            yield self._piece({"content": part}, text=part)
        if says.hang:
            await asyncio.Event().wait()
        if says.fault is None:
            yield self._piece({}, finish="stop")
        self.attempt = attempt_of(says, self._endpoint, stream=True)

    def pass_to(self, sink: Sink) -> None:
        """A script is read by iteration alone."""

    async def aclose(self) -> None:
        self._owner.closed.append(self._endpoint.upstream_model)
        if self.attempt is None:
            self.attempt = Attempt(started_at=0.0, elapsed_s=0.1, fault=Fault.ABANDONED, stream=True)

    def _piece(
        self,
        delta: dict[str, Any],
        *,
        text: str = "",
        reasoning: str = "",
        tools: bool = False,
        finish: str | None = None,
    ) -> Piece:
        name = self._endpoint.upstream_model
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {
            "id": f"id-{name}",
            "object": "chat.completion.chunk",
            "created": 5,
            "model": name,
            "choices": [choice],
        }
        return Piece(data=json.dumps(chunk).encode(), text=text, reasoning=reasoning, tools=tools, finish_reason=finish)


def attempt_of(says: Says, endpoint: Endpoint, *, stream: bool) -> Attempt:
    said = says.text if says.pieces is None or not stream else "".join(says.pieces)
    reply: dict[str, Any] | None = None
    body = b""
    if says.error is not None:
        reply = {"error": dict(says.error)}
    elif not stream and says.status == 200:
        message = {"role": "assistant", "content": said} | ({"tool_calls": list(says.calls)} if says.calls else {})
        choices = [{"index": 0, "message": message, "finish_reason": says.finish}]
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        whole = {"id": "c1", "model": endpoint.upstream_model, "choices": choices, "usage": usage, "kept": True}
        body = json.dumps(whole).encode()
    return Attempt(
        started_at=0.0,
        elapsed_s=0.1,
        first_text_s=0.05 if said else None,
        status=says.status,
        fault=says.fault,
        detail=says.detail,
        retry_after_s=says.retry_after_s,
        unread_s=says.unread_s,
        finish_reason=says.finish,
        text=said,
        raw_text=said + " again and again and call 13812345678" if says.fault is Fault.REPETITION else said,
        reply=reply,
        body=body,
        usage=Usage(prompt_tokens=10, completion_tokens=5),
        verdict=LOOPED if says.fault is Fault.REPETITION else Verdict(),
        stream=stream,
    )


@dataclass
class FakePermit:
    settled: list[bool] = field(default_factory=list)

    def settle(self, clean: bool) -> None:
        self.settled.append(clean)


@dataclass(kw_only=True)
class FakeGuard:
    at: dict[str, Level]
    until: dict[str, float] = field(default_factory=dict)
    noted: list[dict[str, Any]] = field(default_factory=list)
    grants: FakePermit | None = None

    def levels(self) -> Mapping[str, Level]:
        return self.at

    def snapshot(self, model: str) -> Snapshot:
        return Snapshot(model=model, level=self.at.get(model, Level.HEALTHY), until=self.until.get(model, 0.0))

    @contextmanager
    def permit(self, model: str, *, live: bool = False, shadow: bool = False) -> Iterator[FakePermit | None]:
        yield self.grants if self.at.get(model) is Level.RECOVERING else None

    def note(self, **what: Any) -> None:
        self.noted.append(what)

    @property
    def outcomes(self) -> list[str]:
        return [f"{n['model']}:{n['outcome'].value}" for n in self.noted]


@dataclass
class MemoryLog:
    calls: list[CallRow] = field(default_factory=list)
    failed: list[FailedReply] = field(default_factory=list)

    def add_call(self, row: CallRow) -> None:
        self.calls.append(row)

    def add_failed(self, row: FailedReply) -> None:
        self.failed.append(row)


class World:
    """A router with one route `main` over models a, b, c (priority in that order, `a` with a spare `a2`)."""

    def __init__(
        self,
        scripts: Mapping[str, Sequence[Says]] | None = None,
        *,
        levels: Mapping[str, Level] | None = None,
        policy: RouterPolicy | None = None,
        keys: Keys | None = None,
        names: Sequence[str] = ("a", "b", "c"),
        spares: Sequence[str] = ("a2",),
        capabilities: frozenset[str] = frozenset({"prefill"}),
        **route: Any,
    ) -> None:
        said = {**{n: [Says()] for n in (*names, *spares)}, **(scripts or {})}
        self.models = ScriptedModels(scripts={n: deque(s) for n, s in said.items()})
        self.guard = FakeGuard(at=dict(levels or {}))
        self.log = MemoryLog()
        self.clock = ManualClock()
        self.deps = Deps(
            topology=self._topology(names, spares, capabilities, route),
            models=self.models,
            guard=self.guard,
            shares=shares,
            catalog=CATALOG,
            calls=self.log,
            clock=self.clock,
            rng=Random(3),
            keys=keys or Keys(),
            policy=policy or RouterPolicy(),
        )
        self.app: RouterApp = build_app(self.deps)

    @staticmethod
    def _topology(
        names: Sequence[str], spares: Sequence[str], capabilities: frozenset[str], route: Mapping[str, Any]
    ) -> Topology:
        def endpoints(name: str) -> tuple[Endpoint, ...]:
            peers = [name, *(s for s in spares if s.startswith(name))]
            return tuple(Endpoint(base_url=f"http://{p}/v1", upstream_model=p) for p in peers)

        models = {n: Model(name=n, vendor=f"v-{n}", endpoints=endpoints(n), capabilities=capabilities) for n in names}
        candidates = tuple(Candidate(model=n, weight=1, priority=i) for i, n in enumerate(names))
        return Topology(models=models, routes={"main": Route(name="main", candidates=candidates, **route)})

    async def ask(self, *, headers: Mapping[str, str] | None = None, **fields: Any) -> httpx.Response:
        body = {"model": "main", "messages": [{"role": "user", "content": "hello"}], **fields}
        return await self.post(json.dumps(body).encode(), headers=headers)

    async def post(self, raw: bytes, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return await self.request("POST", "/v1/chat/completions", content=raw, headers=headers)

    async def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://router") as client:
            return await client.request(method, path, **more)

    @property
    def asked(self) -> list[str]:
        return [name for name, _, _ in self.models.asked]


async def until(true: Callable[[], object]) -> None:
    """Give the loop turns until `true()`; a test that waits in vain fails instead of hanging."""
    for _ in range(10_000):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("what the test waits for never came")


def events(response: httpx.Response) -> list[Any]:
    """The events of a stream; the last is the string [DONE] when it ended properly."""
    out: list[Any] = []
    for line in response.text.splitlines():
        if line.startswith("data: "):
            data = line.removeprefix("data: ")
            out.append(data if data == "[DONE]" else json.loads(data))
    return out


def streamed_text(response: httpx.Response) -> str:
    chunks = [e for e in events(response) if isinstance(e, dict) and e.get("choices")]
    return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks)

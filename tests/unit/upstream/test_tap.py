"""Events that go to the client as they are read, past the task that waits for them: the same stream all the same."""

from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from base.faults import Fault
from detector import GatePolicy
from tests.support.clock import ManualClock
from tests.unit.upstream.test_client import ENDPOINT, STORY, event
from upstream.alike import events_in
from upstream.attempt import Attempt, Piece
from upstream.call import Call, Timeouts
from upstream.client import Upstream
from upstream.peer import Address
from upstream.shapes import decode_event
from upstream.stream import Straight

LOOP = [event({"content": "the train is late and "}) for _ in range(60)]
HEAD = [
    event({"content": word + " "})
    for word in [
        "A",
        "short",
        "note",
        "on",
        "how",
        "trains",
        "are",
        "switched",
        "from",
        "one",
        "track",
        "to",
        "another",
    ]
]
DONE = [event({}, "stop"), b"data: [DONE]\n\n"]


class Tapped:
    """A reply that hands its reads to whoever taps it; `woken` counts those that went the long way.

    With `chunks` each is offered as a chunk of HTTP before."""

    def __init__(self, parts: list[bytes], *, chunks: bool = False) -> None:
        self.status, self.woken = 200, 0
        self._parts, self._chunks = parts, chunks
        self._take: Callable[[bytes], bytes | None] | None = None
        self._straight: Callable[[bytes], bytes | None] | None = None

    def header(self, name: str) -> str:
        return ""

    def tap(self, take: Callable[[bytes], bytes | None], straight: Callable[[bytes], bytes | None]) -> None:
        self._take, self._straight = take, straight

    def _left(self, part: bytes) -> bytes | None:
        if self._take is None or self._straight is None:
            return part
        # Each event a chunk of its own, as vendors write them.
        events = [event + b"\n\n" for event in part.split(b"\n\n")[:-1]] if part.endswith(b"\n\n") else [part]
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events)
        if self._chunks and (left := self._straight(chunks)) is not chunks:
            return left
        return self._take(part)

    async def parts(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            left = self._left(part)
            if left is not None:
                self.woken += 1
                yield left

    async def read(self) -> bytes:
        return b"".join(self._parts)

    async def aclose(self) -> None:
        pass

    async def post(self, address: Address, content: bytes, connect_s: float) -> "Tapped":
        return self


class Reader:
    """Iterates, and after the first piece takes what comes past the iteration as well."""

    def __init__(self, *, free: bool = True, behind_at: int = 10_000) -> None:
        """`behind_at`: so many chunks go straight before it is behind."""
        self.free = free
        self.got: list[Piece] = []
        self.chunks = 0
        self._said = ""
        self._behind_at = behind_at

    def take(self, ready: deque[Piece]) -> None:
        while self.free and ready and not ready[0].finish_reason:
            self.got.append(ready.popleft())

    def straight(self) -> Straight | None:
        return Straight(self._note, self._write) if self.free else None

    def _note(self, text: str) -> None:
        self._said = text

    def _write(self, chunk: bytes) -> bool:
        self.chunks += 1
        for data in events_in(chunk):
            text = decode_event(data).choices[0].delta.content  # type: ignore[index,union-attr]
            self.got.append(Piece(data=data, text=str(text)))
            self._said = self._said.removeprefix(str(text))
        assert not self._said
        return self.chunks % self._behind_at != 0

    async def read(self, reply: Tapped, gate: GatePolicy | None, *, tap: bool) -> Attempt:
        stream = Upstream(reply, ManualClock(), gate).stream(Call(body={}, stream=True), ENDPOINT, Timeouts())
        async for piece in stream:
            self.got.append(piece)
            if tap and piece.text:
                stream.pass_to(self)
        assert stream.attempt is not None
        return stream.attempt


STREAMS = {
    "healthy": STORY,
    "long": [*HEAD, *DONE],
    "loops": [*HEAD, *LOOP, *DONE],
    "an error object": [*HEAD, b'data: {"error": {"message": "no"}}\n\n'],
    "not JSON": [*HEAD, b"data: {broken\n\n"],
    "broken off": HEAD,
    "tools": [*HEAD, event({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}), *DONE],
    "no finish reason": [*HEAD, DONE[1]],
}


@pytest.mark.parametrize("mode", ["splice", "suppress"])
@pytest.mark.parametrize(
    "size", [0, 7, 1_000, -3], ids=["event by event", "in crumbs", "many at once", "three at once"]
)
@pytest.mark.parametrize("name", STREAMS)
async def test_the_same_pieces_and_the_same_end_whichever_way_they_went(name: str, size: int, mode: str) -> None:
    whole = b"".join(STREAMS[name])
    parts = STREAMS[name] if not size else [whole[at : at + size] for at in range(0, len(whole), abs(size))]
    if size < 0:
        parts = [b"".join(STREAMS[name][at : at - size]) for at in range(0, len(STREAMS[name]), -size)]
    gate = GatePolicy.model_validate({"mode": mode})
    plain, tapped, straight, slow = Reader(), Reader(), Reader(), Reader(behind_at=2)
    expected = await plain.read(Tapped(parts), gate, tap=False)
    for reader, chunks in ((tapped, False), (straight, True), (slow, True)):
        attempt = await reader.read(Tapped(parts, chunks=chunks), gate, tap=True)
        assert reader.got == plain.got
        assert _told(attempt) == _told(expected)
    assert tapped.chunks == 0


def _told(attempt: Attempt) -> Attempt:
    verdict = attempt.verdict
    return replace(attempt, verdict=replace(verdict, cost_us=0.0) if verdict is not None else None)


async def test_nobody_is_woken_for_healthy_text_and_for_no_more_than_its_end() -> None:
    reply = Tapped([*HEAD, *DONE])
    await Reader().read(reply, None, tap=True)
    assert reply.woken <= 1 + len(DONE)


async def test_healthy_text_goes_straight_and_a_reader_that_is_behind_gets_the_next_as_a_piece() -> None:
    many = [event({"content": f"{word} {at} "}) for at in range(8) for word in TEXT.split()]
    quick, slow = Reader(), Reader(behind_at=2)
    await quick.read(Tapped([*HEAD, *many, *DONE], chunks=True), None, tap=True)
    await slow.read(Tapped([*HEAD, *many, *DONE], chunks=True), None, tap=True)
    assert quick.got == slow.got
    assert quick.chunks > 3 * len(many) / 4  # the gate looks twice at some
    assert 0 < slow.chunks < quick.chunks


async def test_a_reader_that_is_not_free_gets_all_by_iteration() -> None:
    reply, reader = Tapped([*HEAD, *DONE]), Reader(free=False)
    attempt = await reader.read(reply, None, tap=True)
    assert reply.woken >= len(HEAD)
    assert attempt.fault is None and [p.text for p in reader.got if p.text] == [w + " " for w in TEXT.split()]


@pytest.mark.parametrize("where", ["take", "write"])
async def test_a_reader_that_fails_on_the_short_way_hears_of_it_and_the_model_is_not_blamed(where: str) -> None:
    class Failing(Reader):
        def take(self, ready: deque[Piece]) -> None:
            if where == "take":
                raise ConnectionResetError("the client is gone")
            super().take(ready)

        def _write(self, chunk: bytes) -> bool:
            raise ConnectionResetError("the client is gone")

    reply, failing = Tapped([*HEAD, *DONE], chunks=True), Failing()
    stream = Upstream(reply, ManualClock()).stream(Call(body={}, stream=True), ENDPOINT, Timeouts())
    await anext(stream)
    stream.pass_to(failing)
    with pytest.raises(ConnectionResetError):
        await anext(stream)
    assert stream.attempt is not None and stream.attempt.fault is Fault.ABANDONED


TEXT = "A short note on how trains are switched from one track to another"

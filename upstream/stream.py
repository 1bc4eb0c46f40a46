"""A streamed reply: read, gated, and handed on piece by piece.

Acts: reads the upstream under four limits (connect, first text, gap, total), feeds the gates, carries what they release.
A piece without text, reasoning or tools (role, blanks, end, usage) waits until the reply has begun, so that an empty reply sends
nothing and another model may answer silently. The end of a reply that failed is withheld; `attempt.fault` says why.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import httpx
import msgspec

from base.clock import Clock
from base.faults import Fault
from detector import GateMode, GatePolicy, StreamGate
from detector.verdict import GateState, Release, Verdict
from upstream.attempt import Attempt, Piece, Usage
from upstream.call import Call, Timeouts
from upstream.errors import (
    CAUGHT,
    Broken,
    Garbled,
    Refused,
    TimedOut,
    UpstreamError,
    mapped,
    refusal,
    refusal_under_success,
)
from upstream.held import REASONING, TEXT, Held
from upstream.judge import fault_of, verdict_with_finish
from upstream.shapes import NOT_JSON, Choice, Delta, decode_event, has_tools, text_of
from upstream.sse import SseSplitter

TICK_S = 0.25
"""How often a gate that holds text is asked again; a sixth of the longest hold (1.5 s)."""
LINGER_S = 0.02
"""How long after [DONE] the closing chunk is awaited, so that the connection can serve the next call."""
MAX_ERROR_BYTES = 64 * 1024
_TICK = b"tick"
_T = TypeVar("_T")


class ReplyStream:
    """Async iterator of Piece. After it, or after `aclose()`, `attempt` is set. Not for two readers at once."""

    def __init__(
        self,
        send: Callable[[], Awaitable[httpx.Response]],
        call: Call,
        timeouts: Timeouts,
        clock: Clock,
        gate: GatePolicy,
    ) -> None:
        self.attempt: Attempt | None = None
        self._send = send
        self._clock = clock
        self._timeouts = timeouts
        self._gates = _gates(call, gate)
        self._started_at = clock.now_s()
        self._began = clock.monotonic_s()
        self._total_at = self._began + max(0.0, timeouts.total_s)
        self._silent_at = self._began + timeouts.first_text_s
        self._first_text_s: float | None = None
        self._response: httpx.Response | None = None
        self._body: AsyncIterator[bytes] | None = None
        self._reading: asyncio.Task[bytes | None] | None = None
        self._splitter = SseSplitter()
        self._held = Held()
        self._head: list[Piece] = []
        self._ready: deque[Piece] = deque()
        self._open = False
        self._muted = False
        self._detector_errors = 0
        self._done = False
        self._finish: str | None = None
        self._fault: Fault | None = None
        self._said: tuple[list[str], list[str]] = ([], [])
        self._verdicts: list[Verdict | None] = [None, None]
        self._states = [GateState.PASSING, GateState.PASSING]
        self._tools = False
        self._refused = False
        self._usage = Usage()
        self._model = ""

    def __aiter__(self) -> "ReplyStream":
        return self

    async def __anext__(self) -> Piece:
        while not self._ready:
            if self.attempt is not None:
                raise StopAsyncIteration
            try:
                await self._step()
            except UpstreamError as error:
                await self._fail(error)
            except CAUGHT as error:
                await self._fail(mapped(error))
            except BaseException:
                await self.aclose()
                raise
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Close the upstream at once. Before the reply's end this is the client's leaving: nobody's fault."""
        if self.attempt is None:
            await self._end(Fault.ABANDONED, "closed by the reader")

    async def _fail(self, error: UpstreamError) -> None:
        if self._open:
            # Clean text that came in the same read as the failure: a splice goes on after it.
            self._hand_on()
        await self._end(error.fault, error.detail, error.retry_after_s, error.told)

    async def _step(self) -> None:
        if self._body is None:
            await self._connect()
        data = await self._read()
        now = self._clock.monotonic_s()
        if data is _TICK:
            for channel in (TEXT, REASONING):
                self._judge(channel, lambda gate: gate.tick(now))
        elif data is None:
            for event in self._splitter.finish():
                self._take(event, now)
            if not self._done and self._finish is None:
                raise Broken(Fault.BROKEN_STREAM, "stream ended without its end")
            self._done = True
        else:
            for event in self._splitter.feed(data):
                self._take(event, now)
                if self._done:
                    break
        if self._done and self._finish is None:
            self._at_finish("")  # [DONE] without a finish reason: some vendors leave it out
        self._hand_on()
        if self._done or GateState.STOPPED in self._states:
            await self._end(self._fault)

    async def _connect(self) -> None:
        response = await self._within(self._send)
        self._response = response
        encoded = response.headers.get("content-encoding", "identity") != "identity"
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self._body = response.aiter_bytes() if encoded else response.stream.__aiter__()
        success = 200 <= response.status_code < 300
        if success and "json" not in response.headers.get("content-type", ""):
            return
        body = b""
        while len(body) < MAX_ERROR_BYTES and (part := await self._within(self._part)) is not None:
            body += part
        try:
            decoded = msgspec.json.decode(body)
        except NOT_JSON:
            decoded = None
        if success:
            # Asked for a stream, answered with an object: an error under 200, or a peer that does not stream.
            raise refusal_under_success(decoded)
        raise refusal(response.status_code, decoded, response.headers.get("retry-after"))

    async def _read(self) -> bytes | None:
        """The next bytes; None at the end; _TICK when a holding gate wants to be asked. Raises TimedOut."""
        assert self._body is not None
        if not self._held and self._reading is None:
            return await self._within(self._part)
        # A read that is cancelled kills the body's generator, so while a gate holds the read is a task of its own that outlives the tick.
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._part())
        left = self._left_s()
        wait = min(left, TICK_S) if self._held else left
        done, _ = await asyncio.wait({self._reading}, timeout=self._clock.real_s(wait))
        if done:
            reading, self._reading = self._reading, None
            return reading.result()
        if wait >= left:
            raise self._timed_out()
        return _TICK

    async def _part(self) -> bytes | None:
        assert self._body is not None
        return await anext(self._body, None)

    async def _within(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        # Asked for only here: when the limit has passed already nothing is begun that nobody would await.
        limit = asyncio.timeout(self._clock.real_s(self._left_s()))
        try:
            async with limit:
                return await ask()
        except TimeoutError:
            if limit.expired():
                raise self._timed_out() from None
            raise

    def _left_s(self) -> float:
        """Seconds until the nearest limit. Raises TimedOut when it has passed, also if bytes keep coming (keep-alives do)."""
        left = min(self._total_at, self._silent_at) - self._clock.monotonic_s()
        if left <= 0:
            raise self._timed_out()
        return left

    def _timed_out(self) -> TimedOut:
        if self._total_at <= self._silent_at:
            return TimedOut(Fault.TIMEOUT_TOTAL, "total")
        if self._first_text_s is None:
            return TimedOut(Fault.TIMEOUT_FIRST_TEXT, "first text")
        return TimedOut(Fault.TIMEOUT_IDLE, "gap")

    def _take(self, data: bytes, now: float) -> None:
        """One event of the upstream."""
        if data == b"[DONE]":
            self._done = True
            return
        try:
            event = decode_event(data)
        except NOT_JSON:
            raise Garbled(Fault.GARBLED_PROTOCOL, "event is not the promised JSON") from None
        if event.failed:
            if self._first_text_s is not None:
                # The request was good enough to begin: whatever is said now, the reply broke.
                raise Refused(Fault.SERVER_ERROR, "error object in the stream")
            raise refusal_under_success(msgspec.json.decode(data))
        if event.usage is not None:
            self._usage = event.usage.usage()
        self._model = event.model or self._model
        choice = event.choices[0] if event.choices else _NO_CHOICE
        delta = choice.delta or _NO_DELTA
        text = choice.text if choice.text is not None else text_of(delta.content)
        reasoning = text_of(delta.reasoning_content) or text_of(delta.reasoning)
        tools = has_tools(delta)
        self._refused = self._refused or bool(delta.refusal)
        if text or reasoning or tools:
            self._tools = self._tools or tools
            self._silent_at = now + self._timeouts.idle_s
            if self._first_text_s is None:
                self._first_text_s = now - self._began
        piece = Piece(
            data=data,
            text=text,
            reasoning=reasoning,
            tools=tools,
            finish_reason=choice.finish_reason,
            usage=event.usage is not None,
        )
        self._held.add(piece)
        if text:
            self._feed(TEXT, text, now)
        if reasoning:
            self._feed(REASONING, reasoning, now)
        if choice.finish_reason is not None and self._finish is None:
            self._at_finish(choice.finish_reason)

    def _feed(self, channel: int, text: str, now: float) -> None:
        self._said[channel].append(text)
        self._judge(channel, lambda gate: gate.feed(text, now), text)

    def _judge(self, channel: int, ask: Callable[[StreamGate], Release], text: str = "") -> None:
        """Ask a channel's gate and do what it says. A gate that fails turns its channel into pass-through, and is counted."""
        gate = self._gates[channel]
        if gate is None:
            if text:
                self._held.clear(channel, text)
            return
        try:
            release = ask(gate)
        except Exception:
            # Whatever the detector stumbles over, a reply is never lost to it (SPEC 2.5).
            self._detector_errors += 1
            self._gates[channel] = None
            self._held.clear_all(channel)
            return
        self._states[channel] = release.state
        self._verdicts[channel] = release.verdict or self._verdicts[channel]
        if release.text:
            self._held.clear(channel, release.text)
        if release.state is GateState.STOPPED:
            self._held.drop(channel)
            self._fault = self._fault or Fault.REPETITION

    def _at_finish(self, finish_reason: str) -> None:
        """The model says it is done: judge what is still held, then whether this end may be told to the client."""
        self._finish = finish_reason
        # Asked before `finish`, which ends a suppression: a loop that ran to the end did not recover.
        looping = self._states[TEXT] is GateState.SUPPRESSING
        for channel in (REASONING, TEXT):
            self._judge(channel, lambda gate: gate.finish())
            self._held.drop(channel)
        verdict = verdict_with_finish(self._verdicts[TEXT], finish_reason)
        self._verdicts[TEXT] = verdict
        self._fault = self._fault or fault_of(
            text=self._text(TEXT),
            reasoning="".join(self._said[REASONING]),
            tools=self._tools,
            refusal=self._refused,
            finish_reason=finish_reason,
            verdict=verdict,
            recovered=self._recoveries() > 0 and not looping,
        )

    def _hand_on(self) -> None:
        """Move cleared pieces to the reader; bare ones wait for the reply to begin, the end of a failed reply stays."""
        for piece in self._held.take():
            if self._muted:
                continue
            if piece.finish_reason is not None and self._withheld():
                self._muted = True
                if not (piece.text or piece.reasoning or piece.tools):
                    continue
                piece = Piece(
                    data=without_end(piece.data), text=piece.text, reasoning=piece.reasoning, tools=piece.tools
                )
            if self._open:
                self._ready.append(piece)
                continue
            self._head.append(piece)
            if piece.text.strip() or piece.reasoning.strip() or piece.tools:
                self._open = True
                self._ready.extend(self._head)
                self._head.clear()
        if self._finish is not None and not self._withheld():
            self._open = True
            self._ready.extend(self._head)
            self._head.clear()

    def _withheld(self) -> bool:
        return self._fault not in (None, Fault.LENGTH_IN_REASONING)

    def _text(self, channel: int) -> str:
        gate = self._gates[channel]
        return gate.cleaned if gate is not None else "".join(self._said[channel])

    def _recoveries(self) -> int:
        return sum(gate.counters.recoveries for gate in self._gates if gate is not None)

    async def _end(
        self,
        fault: Fault | None,
        detail: str = "",
        retry_after_s: float | None = None,
        told: dict[str, Any] | None = None,
    ) -> None:
        if self.attempt is not None:
            return
        gates = [gate for gate in self._gates if gate is not None]
        self.attempt = Attempt(
            started_at=self._started_at,
            elapsed_s=self._clock.monotonic_s() - self._began,
            first_text_s=self._first_text_s,
            status=self._response.status_code if self._response is not None else None,
            fault=fault,
            detail=detail,
            retry_after_s=retry_after_s,
            reply=told,
            text=self._text(TEXT),
            raw_text="".join(self._said[TEXT]) or "".join(self._said[REASONING]),
            finish_reason=self._finish or None,
            usage=self._usage,
            served_model=self._model,
            verdict=self._verdict(fault),
            suppressed_chars=sum(gate.counters.suppressed_chars for gate in gates),
            held_chars=sum(gate.counters.held_chars for gate in gates),
            recoveries=self._recoveries(),
            detector_errors=self._detector_errors,
            hard_stop=any(gate.counters.hard_stops for gate in gates),
            stream=True,
        )
        await self._close()

    def _verdict(self, fault: Fault | None) -> Verdict | None:
        """The text's verdict; the reasoning's where the reply fell by its reasoning."""
        text, reasoning = self._verdicts
        return reasoning if fault is Fault.REPETITION and (text is None or not text.degenerate) and reasoning else text

    async def _close(self) -> None:
        """Let the upstream go: kept for the next call when its reply is complete, else closed."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            with suppress(asyncio.CancelledError, *CAUGHT):
                await reading
        elif self._done and self._body is not None:
            with suppress(TimeoutError, *CAUGHT):
                async with asyncio.timeout(LINGER_S):
                    await anext(self._body, None)
        if self._response is not None:
            with suppress(*CAUGHT):
                await self._response.aclose()


_NO_CHOICE = Choice()
_NO_DELTA = Delta()


def _gates(call: Call, policy: GatePolicy) -> list[StreamGate | None]:
    """The gates of text and reasoning. Reasoning is suppressed, not stopped: the text after a looped thought may be fine."""
    if not call.guarded:
        return [None, None]
    allowed = call.repetition_allowed
    text = StreamGate(policy, profile=call.profile, repetition_allowed=allowed) if policy.guard_text else None
    if not policy.guard_reasoning or policy.mode is GateMode.OFF:
        return [text, None]
    quiet = policy.model_copy(update={"mode": GateMode.SUPPRESS})
    return [text, StreamGate(quiet, repetition_allowed=allowed)]


def without_end(data: bytes) -> bytes:
    """An event with its finish reason and usage taken out."""
    body = msgspec.json.decode(data)
    body["choices"][0]["finish_reason"] = None
    body.pop("usage", None)
    return msgspec.json.encode(body)

"""A streamed reply: read, gated, and handed on piece by piece.

Acts: reads the upstream under its limits (reading.py), lets every event pass the gates (gated.py), says in `attempt` what
came of it.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from base.clock import Clock
from base.faults import Fault
from detector import GatePolicy
from upstream.alike import events_in
from upstream.attempt import Attempt, Piece
from upstream.call import Call, Timeouts
from upstream.errors import CAUGHT, Broken, UpstreamError, mapped, refusal, refusal_under_success
from upstream.gated import Gated
from upstream.peer import Reply
from upstream.reading import TICK, Limits, Reading
from upstream.sse import SseSplitter
from upstream.whole import decoded_or_none

MAX_ERROR_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Straight:
    """A sink's shortest way: `note` what chunks say, then `write` them as they came off the wire, frames and all.

    `write` always writes; False: that was the last, the client is behind."""

    note: Callable[[str], object]
    write: Callable[[bytes], bool]


class Sink(Protocol):
    """Who takes pieces without waiting."""

    def take(self, ready: deque[Piece]) -> None:
        """Take pieces from the left as long as they need nothing but to be sent, and can be sent now."""

    def straight(self) -> Straight | None:
        """The way for chunks that need no more, until the next `take`; None: there is none just now."""


class ReplyStream:
    """Async iterator of Piece. After it, or after `aclose()`, `attempt` is set. Not for two readers at once."""

    def __init__(
        self,
        ask: Callable[[], Awaitable[Reply]],
        call: Call,
        timeouts: Timeouts,
        clock: Clock,
        gate: GatePolicy,
    ) -> None:
        self.attempt: Attempt | None = None
        self._clock = clock
        self._started_at = clock.now_s()
        self._limits = Limits(timeouts, clock)
        self._reading = Reading(ask, self._limits, clock)
        self._splitter = SseSplitter()
        self._gated = Gated(call, gate, clock.monotonic_s)
        self._ready = self._gated.ready
        self._first_text_s: float | None = None
        self._unread_s = 0.0
        self._handed_at: float | None = None
        self._done = False
        self._sink: Sink | None = None
        self._straight: Straight | None = None
        """Open while each event is like the one before it, nothing is held, and nothing waits to be read or written."""
        self._stumbled: Exception | None = None
        self._not_taken: Exception | None = None

    def pass_to(self, sink: Sink) -> None:
        """Hand pieces to `sink` as they are read, past the iteration, wherever it takes them without waiting."""
        self._sink = sink
        self._reading.tap(self._tapped, self._went_straight)

    def __aiter__(self) -> "ReplyStream":
        return self

    async def __anext__(self) -> Piece:
        if self._handed_at is not None:
            self._unread_s += self._clock.monotonic_s() - self._handed_at
            self._handed_at = None
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
            if self._not_taken is not None:
                await self.aclose()
                raise self._not_taken
        self._handed_at = self._clock.monotonic_s()
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Close the upstream at once. Before the reply's end this is the client's leaving: nobody's fault."""
        if self.attempt is None:
            await self._end(Fault.ABANDONED, "closed by the reader")

    async def _fail(self, error: UpstreamError) -> None:
        if self._gated.opened:
            # Clean text that came in the same read as the failure: a splice goes on after it.
            self._gated.hand_on()
        await self._end(error.fault, error.detail, error.retry_after_s, error.told)

    async def _step(self) -> None:
        if self._reading.reply is None:
            await self._open()
        gated = self._gated
        data = await self._reading.next(holding=gated.holding)
        if self._stumbled is not None:
            raise self._stumbled
        now = self._clock.monotonic_s()
        if data is TICK:
            gated.tick(now)
        elif data is None:
            self._take(self._splitter.finish(), now)
            if not self._done and gated.finish_reason is None:
                raise Broken(Fault.BROKEN_STREAM, "stream ended without its end")
            self._done = True
        else:
            if not self._take(self._splitter.feed(data), now):
                self._limits.check(now)
        if self._done and gated.finish_reason is None:
            gated.finish("")  # [DONE] without a finish reason: some vendors leave it out
        gated.hand_on()
        if self._done or gated.channels.stopped:
            await self._end(gated.fault, gated.detail)

    def _tapped(self, data: bytes) -> bytes | None:
        """A read while the iteration waits for it: None when that may go on waiting, else what it is woken with."""
        sink, gated, ready = self._sink, self._gated, self._ready
        self._straight = None
        if sink is None or ready or self._reading.task is not None or self.attempt is not None:
            return data
        now = self._clock.monotonic_s()
        event = self._splitter.single(data)
        try:
            passed = gated.take_alike(event, now) if event is not None else None
            if passed is not None:
                self._limits.heard(now)
            else:
                if not self._take(self._splitter.feed(data), now):
                    self._limits.check(now)
                gated.hand_on()
        except Exception as error:
            self._stumbled = error  # told where the reply is read, as any other
            return b""
        left = self._taken(sink)
        if left is None and gated.mould.pressed and gated.finish_reason is None and self._splitter.between:
            self._straight = sink.straight()
        return left

    def _went_straight(self, read: bytes) -> bytes | None:
        """A read of events like the one before them, in few steps: each costs as much as it does warm ten times over.

        An event mostly comes alone, to a process that slept, and finds the processor's caches full of other things. Several
        in one read are one text to the gate, which cuts by itself.
        """
        straight = self._straight
        if straight is None or not (texts := self._gated.mould.in_chunks(read)):
            return read
        self._limits.quiet_since = now = self._clock.monotonic_s()
        text = texts[0] if len(texts) == 1 else "".join(texts)
        if not self._gated.channels.passes(text, now):
            self._straight = None
            try:
                self._gated.not_passed(events_in(read), texts)
            except Exception as error:
                self._stumbled = error
                return b""
            return self._taken(self._sink)
        straight.note(text)
        try:
            if not straight.write(read):
                self._straight = None
        except Exception as error:
            self._not_taken = error
            return b""
        return None

    def _taken(self, sink: Sink | None) -> bytes | None:
        """Let `sink` take what is ready: None when nobody has to be woken for the rest."""
        gated, ready = self._gated, self._ready
        try:
            if ready and sink is not None:
                sink.take(ready)
        except Exception as error:
            self._not_taken = error  # not the model's
            return b""
        asleep = not (ready or self._done or gated.holding or gated.channels.stopped)
        return None if asleep else b""

    def _take(self, events: list[bytes], now: float) -> bool:
        """Events of one read; whether the model said something, or that it is done."""
        heard = False
        for event in events:
            if event == b"[DONE]":
                self._done = True
                return True
            alike = self._gated.take_alike(event, now)
            heard = alike is not None or self._gated.take(event, now) or heard
        if heard:
            self._limits.heard(now)
            if self._first_text_s is None:
                self._first_text_s = now - self._limits.began
        return heard

    async def _open(self) -> None:
        """Wait for the head. Raises UpstreamError for whatever is no stream."""
        reply = await self._reading.open()
        success = 200 <= reply.status < 300
        if success and "json" not in reply.header("content-type"):
            return
        body = b""
        while len(body) < MAX_ERROR_BYTES and (part := await self._reading.next(holding=False)) is not None:
            body += part
        decoded = decoded_or_none(body)
        if success:
            # Asked for a stream, answered with an object: an error under 200, or a peer that does not stream.
            raise refusal_under_success(decoded)
        raise refusal(reply.status, decoded, reply.header("retry-after") or None)

    async def _end(
        self,
        fault: Fault | None,
        detail: str = "",
        retry_after_s: float | None = None,
        told: dict[str, Any] | None = None,
    ) -> None:
        if self.attempt is not None:
            return
        self._sink = self._straight = None
        gated, channels = self._gated, self._gated.channels
        gates = channels.gates()
        self.attempt = Attempt(
            started_at=self._started_at,
            elapsed_s=self._clock.monotonic_s() - self._limits.began,
            first_text_s=self._first_text_s,
            unread_s=self._unread_s,
            status=self._reading.reply.status if self._reading.reply is not None else None,
            fault=fault,
            detail=detail,
            retry_after_s=retry_after_s,
            reply=told,
            text=channels.text(),
            raw_text=channels.raw_text(),
            finish_reason=gated.finish_reason or None,
            usage=gated.billed(),
            served_model=gated.model,
            system_fingerprint=str(gated.system),
            verdict=channels.verdict(fault),
            suppressed_chars=sum(gate.counters.suppressed_chars for gate in gates),
            held_chars=sum(gate.counters.held_chars for gate in gates),
            recoveries=channels.recoveries(),
            detector_errors=channels.errors + sum(gate.counters.errors for gate in gates),
            guarded=channels.guarded,
            trips=sum(gate.counters.trips for gate in gates),
            hold_s=sum(gate.counters.hold_s for gate in gates),
            hard_stop=channels.stuck,
            stopped=channels.stop_mode,
            stream=True,
        )
        await self._reading.close(whole=self._done)

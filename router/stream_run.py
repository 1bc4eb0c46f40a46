"""One streamed reply, from however many models it takes: what is passed on, held back, continued, cut.

Acts: writes to the client. Nothing that was written can be taken back: from then on a stream goes on with another model,
ends with a closing line, or ends with an error event, and its last event tells which.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from base.faults import HARD, Fault
from detector import GateMode, score
from detector.structured import Step as ParseStep
from router.endings import answer_of, error_of, last_words
from router.errors import NoUsableReply
from router.journey import Answer, Journey, Rung
from router.ladder import End, end_of, root_fault
from router.ports import ReplyStream
from router.splice import Seam, continuation
from router.sse import Thread, encode, thread_of, usage_only, usage_whole, with_field
from router.wire import Kind
from upstream.attempt import Attempt, Piece
from upstream.stream import Straight


class Out(Protocol):
    """The client's side of a stream. `started` once headers were sent: from then on nothing can be taken back."""

    started: bool

    async def start(self, headers: tuple[tuple[bytes, bytes], ...]) -> None: ...

    async def event(self, data: bytes) -> None: ...

    free: bool
    """Whether `events` would write now: not while the client is slower than what was written."""

    def events(self, found: list[bytes]) -> None:
        """Write without waiting; what the client cannot take yet holds up the next `event`."""

    def straight(self) -> Callable[[bytes], bool] | None:
        """Writes a whole chunk of HTTP as it is; False: that was the last, the client is behind. None: it cannot be done now."""

    async def done(self) -> None: ...


class StreamRun:
    """One streamed reply, from however many models it takes."""

    def __init__(self, journey: Journey, out: Out) -> None:
        self._journey, self._out = journey, out
        self._thread = self._own_thread("pointsman")
        self._sent: list[str] = []
        self._tail: list[bytes] = []
        self._tools_sent = False

    async def attempt(self, rung: Rung) -> Attempt:
        """Make one attempt and pass its pieces on as far as they may be shown."""
        journey = self._journey
        spliced = self._out.started
        body = None
        if spliced:
            journey.splicing, journey.fallback = True, "splice"
            prefill = "prefill" in rung.model.capabilities
            body = continuation(journey.body, "".join(self._sent), journey.language, prefill=prefill)
        self._tail = []
        with rung.scope:
            call, endpoint = journey.call(rung, body), journey.endpoint(rung)
            reply = journey.deps.models.stream(call, endpoint, journey.timeouts(rung))
            try:
                await (self._continue(reply) if spliced else self._relay(reply, rung))
            finally:
                # Also when the client hung up: the upstream must not go on generating for nobody.
                await reply.aclose()
                if (attempt := reply.attempt) is not None:
                    attempt = journey.record(rung, attempt)
        assert attempt is not None  # a closed stream knows what it came to
        return attempt

    def _own_thread(self, model: str) -> Thread:
        journey = self._journey
        chat = journey.request.kind is Kind.CHAT
        return Thread(id=journey.id, created=int(journey.at), model=model, chat=chat)

    def may_splice(self) -> bool:
        """Whether another model may go on after what the client has seen."""
        journey = self._journey
        stopped = journey.tried[-1].attempt.stopped if journey.tried else None
        # A reader who has seen text is not given another reply in its place; a thought alone is no text.
        if stopped in (GateMode.CUT, GateMode.RETRY) and any(self._sent):
            return False
        return journey.request.fallback_allowed and journey.route.splice and not self._tools_sent

    async def finish(self, rung: Rung, attempt: Attempt) -> None:
        """Send what was kept for the end, with the truth in its last event."""
        journey = self._journey
        journey.served = rung.model
        if journey.fallback != "splice":
            journey.fallback = journey.fallback_of(rung)
        if attempt.fault is not None:
            journey.code = attempt.fault.value
        if not self._out.started:
            if self._rewritten():
                self._as_strict_json(attempt)
            await self._out.start(journey.headers())
        if journey.fallback == "splice":
            # Each half may be fine and the two together a loop: the reply is judged as the client sees it.
            journey.seen = score("".join(self._sent), repetition_allowed=journey.request.repetition_allowed)
        # The end of a refusal is withheld by upstream/: its own finish reason is told by a chunk of ours.
        own = self._thread.chunk({}, finish=attempt.finish_reason or "stop")
        told = next((d for d in reversed(self._tail) if usage_only(d)), None)
        await self._end([d for d in self._tail if not usage_only(d)] or [own], told)

    async def cut(self) -> None:
        """End a stream that cannot go on: politely after a loop or at the deadline, with an error event after a broken one."""
        journey = self._journey
        fault = root_fault(journey.tried)
        journey.code = fault.value if fault else ""
        if not self._may_close(fault):
            told = "the reply broke off and could not be continued"
            error = NoUsableReply(told, code=journey.code, attempts=journey.attempts())
            shape = error.shape() | {"pointsman": journey.truth()}
            # No [DONE] and no finish reason: a broken reply must not look like a whole one.
            await self._out.event(encode(shape))
            return
        journey.fallback = "cut"
        words = journey.deps.catalog.closing_line(journey.language, journey.deps.rng)
        await self._out.event(self._thread.chunk({"content": f"\n\n{words}" if self._sent else words}))
        await self._end([self._thread.chunk({}, finish="stop")])

    def _may_close(self, fault: Fault | None) -> bool:
        """Whether a closing line may end what was sent: where text loops, or where our own time is up, not where it broke."""
        journey = self._journey
        if not journey.request.fallback_allowed or self._tools_sent:
            return False
        loops = {t.attempt.fault for t in journey.tried} & {Fault.REPETITION, Fault.GARBLE}
        return bool(loops) or fault is Fault.TIMEOUT_TOTAL or fault not in HARD

    async def unsent(self) -> Answer | None:
        """Nothing was shown: a phrase as a stream, else an answer with a real status."""
        journey = self._journey
        if end_of(journey.tried, journey.route, fallback_allowed=journey.request.fallback_allowed) is not End.PHRASE:
            return answer_of(journey)
        words = last_words(journey)
        if words is None:
            return answer_of(journey)
        fault = journey.tried[-1].attempt.fault if journey.tried else None
        journey.code = fault.value if fault else error_of(journey).code
        self._thread = self._own_thread(f"pointsman/{journey.fallback}")
        await self._out.start(journey.headers())
        await self._out.event(self._thread.chunk({"role": "assistant", "content": words}))
        await self._end([self._thread.chunk({}, finish="stop")])
        return None

    def _as_strict_json(self, attempt: Attempt) -> None:
        """One chunk of strict JSON instead of the model's own, which wrapped or broke it."""
        head = self._thread.chunk({"role": "assistant", "content": attempt.text})
        self._tail = [head, self._thread.chunk({}, finish=attempt.finish_reason or "stop")]

    def _rewritten(self) -> bool:
        parsed = self._journey.parsed
        return parsed is not None and parsed.step is not None and parsed.step is not ParseStep.AS_IS

    async def _relay(self, reply: ReplyStream, rung: Rung) -> None:
        """Pass on a first reply; until something shows, keep the pieces so that the model may still be changed."""
        held: list[Piece] = []
        # Half a JSON text is of no use to a program: it is kept until it is whole and has its form.
        whole = self._journey.expected is not None and self._journey.request.fallback_allowed
        async for piece in reply:
            data = piece.data
            if self._tail or piece.finish_reason:
                self._tail.append(data)
            elif self._out.started:
                self._note_text(piece)
                await self._out.event(data)
            elif not whole and (piece.text or piece.reasoning or piece.tools):
                await self._open(held, piece, rung)
                reply.pass_to(self)
            else:
                held.append(piece)
        if not self._out.started:
            self._tail = [p.data for p in held] + self._tail

    async def _open(self, held: list[Piece], first: Piece, rung: Rung) -> None:
        journey = self._journey
        self._thread = thread_of(first.data, self._thread)
        word = "none" if not journey.tried else "model" if rung.model.name != journey.tried[0].model else "spare"
        journey.fallback, journey.served = word, rung.model
        await self._out.start(journey.headers(model=rung.model.name))
        for piece in held:
            await self._out.event(piece.data)
        self._note_text(first)
        await self._out.event(first.data)

    def take(self, ready: deque[Piece]) -> None:
        """What `_relay` does with pieces of a reply that is being shown, up to the first that belongs to its end."""
        if self._tail or not self._out.free:
            return
        found = []
        while ready and not ready[0].finish_reason:
            piece = ready.popleft()
            if piece.text:
                self._sent.append(piece.text)
            if piece.tools:
                self._tools_sent = True
            found.append(piece.data)
        if found:
            self._out.events(found)

    def straight(self) -> Straight | None:
        """The way past pieces for chunks of which nothing but the text has to be known."""
        write = None if self._tail else self._out.straight()
        return None if write is None else Straight(self._sent.append, write)

    async def _continue(self, reply: ReplyStream) -> None:
        """Pass on another model's continuation as part of the stream already running."""
        seam = Seam(self._thread, "".join(self._sent))
        async for piece in reply:
            if usage_only(piece.data):
                continue
            if piece.finish_reason and (rest := seam.finish()) is not None:
                await self._shown(*rest)
            if (made := seam.feed(piece.data, piece.text)) is None:
                continue
            if self._tail or piece.finish_reason:
                self._tail.append(made[0])
            else:
                await self._shown(*made)
        if (rest := seam.finish()) is not None:
            await self._shown(*rest)
        self._thread = seam.thread

    async def _shown(self, data: bytes, text: str) -> None:
        self._sent.append(text)
        await self._out.event(data)

    def _note_text(self, piece: Piece) -> None:
        if piece.text:
            self._sent.append(piece.text)
        if piece.tools:
            self._tools_sent = True

    async def _end(self, closing: list[bytes], told: bytes | None = None) -> None:
        """`told`: the model's own usage chunk."""
        journey, truth = self._journey, self._journey.truth()
        if journey.request.include_usage:
            usage = journey.usage()
            closing = [*closing, self._thread.chunk(None, usage=usage_whole(usage, told, len(journey.tried)))]
            if usage.estimated:
                truth["usage_estimated"] = True
        closing[-1] = with_field(closing[-1], "pointsman", truth)
        for data in closing:
            await self._out.event(data)
        await self._out.done()

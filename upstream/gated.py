"""One streamed reply between what the model says and what the client may see: events in, cleared pieces out.

Decides; no socket, no clock (`now` is handed in). Raises UpstreamError for events that end the conversation.
A piece without text, reasoning or tools (role, blanks, end, usage) waits until the reply has begun, so that an empty reply
sends nothing and another model may answer silently. The end of a reply that failed is withheld; `fault` says why.
"""

from collections import deque
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from base.faults import Fault
from detector import GateMode, GatePolicy
from detector.verdict import LoopClass, Verdict
from upstream.alike import Mould
from upstream.attempt import Piece, Usage
from upstream.call import Call
from upstream.channels import Channels
from upstream.errors import Garbled, Refused, refusal_under_success
from upstream.held import INLINE, REASONING, TEXT
from upstream.inline import InlineParter, Place
from upstream.judge import fault_of, verdict_with_finish
from upstream.logprobs import StreamedOdds, without_logprobs
from upstream.restated import RestatedHead, restated
from upstream.shapes import NOT_JSON, Choice, Delta, decode_event, has_tools, text_of
from upstream.tool_arguments import ToolArguments
from upstream.unbilled import usage_of

_NO_CHOICE = Choice()
_NO_DELTA = Delta()


class Gated:
    """`take` events in order, then `finish`; what may be sent waits in `ready`."""

    def __init__(self, call: Call, policy: GatePolicy, timer: Callable[[], float] | None = None) -> None:
        self.ready: deque[Piece] = deque()
        self.channels = Channels(call, policy, timer)
        self.finish_reason: str | None = None
        """None until the model said that it is done."""
        self.usage = Usage()
        self.model = ""
        self.system: object = ""
        """The vendor's `system_fingerprint`, as it came last."""
        self.detail = ""
        """More of `fault`, where there is more to say."""
        self.opened = False
        """Something may have been sent."""
        self._spoke = False
        self._call, self._policy = call, policy
        self._hold_s = policy.hold_s
        self._now = 0.0
        self._parter: InlineParter[Piece] | None = InlineParter()
        judged = call.guarded and policy.mode is not GateMode.OFF
        watching, compared = judged and call.watch_logprobs, judged and call.previous and not call.repetition_allowed
        self._odds = StreamedOdds(repetition_allowed=call.repetition_allowed) if watching else None
        self._restated = RestatedHead(call.previous or "", policy.restated_chars) if compared else None
        self._head: list[Piece] = []
        self._muted = False
        self._tools: ToolArguments | None = None
        self._refused = False
        self.mould = Mould()
        self._read_all = call.strip_logprobs or self._odds is not None
        """More of each event is wanted than its text."""

    @property
    def holding(self) -> bool:
        """Text waits for the gate, or for time to pass."""
        return bool(self.channels.held) or (self._restated is not None and self._restated.holding)

    @property
    def fault(self) -> Fault | None:
        return self.channels.fault

    def billed(self) -> Usage:
        """What the model told of its cost, else an estimate from what was said."""
        return usage_of(self.usage, self._call.body, self.channels.said())

    def take(self, data: bytes, now: float) -> bool:
        """One event of the upstream; whether it said something. Raises UpstreamError."""
        self._now = now
        try:
            event = decode_event(data)
        except NOT_JSON:
            raise Garbled(Fault.GARBLED_PROTOCOL, "event is not the promised JSON") from None
        if event.failed:
            if self._spoke:
                # The request was good enough to begin: whatever is said now, the reply broke.
                raise Refused(Fault.SERVER_ERROR, "error object in the stream")
            raise refusal_under_success(msgspec.json.decode(data))
        if event.usage is not None:
            self.usage = event.usage.usage()
        if event.model:
            self.model = event.model
        if event.system_fingerprint:
            self.system = event.system_fingerprint
        choice = event.choices[0] if event.choices else _NO_CHOICE
        delta = choice.delta or _NO_DELTA
        thought = delta.reasoning_content or delta.reasoning
        self._refused = self._refused or bool(delta.refusal)
        piece = Piece(
            data=without_logprobs(data) if self._call.strip_logprobs else data,
            text=choice.text if choice.text is not None else text_of(delta.content),
            reasoning=text_of(thought) if thought else "",
            tools=has_tools(delta),
            finish_reason=choice.finish_reason,
            usage=event.usage is not None,
        )
        if self._odds is not None and (finding := self._odds.feed(choice.logprobs)) is not None:
            self.channels.stop(self._odds.told(self.channels.verdicts[TEXT], finding))
        self._sort(piece)
        if piece.tools:
            self._arguments(delta)
        elif piece.text and self.opened and self._says_no_more(piece, delta):
            self.mould.press(data, piece.text)
        if choice.finish_reason is not None and self.finish_reason is None:
            self.finish(choice.finish_reason)
        spoke = bool(piece.text or piece.reasoning or piece.tools)
        self._spoke = self._spoke or spoke
        return spoke

    def take_alike(self, data: bytes, now: float) -> bool | None:
        """`take` an event that is like the one before it in all but its text, as nearly all are.

        True: its piece is in `ready`; False: its text is for the gate to decide; None: nothing was taken, it has to be read.
        """
        text = self.mould.text(data)
        if not text or self.channels.held.queue or self.finish_reason is not None:
            return None
        if self.channels.passes(text, now):
            self.ready.append(Piece(data=data, text=text))
            return True
        self.not_passed([data], [text])
        return False

    def not_passed(self, events: list[bytes], texts: list[str]) -> None:
        """Events that say nothing but their texts, which the gate was fed at once and did not pass."""
        for data, text in zip(events, texts, strict=True):
            self.channels.held.add(Piece(data=data, text=text))
        self.channels.settle()
        self.hand_on()

    def tick(self, now: float) -> None:
        """Time went by without an event."""
        self._now = now
        self.channels.tick(now)
        if self._restated is not None and self._restated.overdue(now, self._hold_s):
            self._begin()

    def finish(self, finish_reason: str) -> None:
        """The model says it is done: judge what is still held, then whether this end may be told to the client."""
        self.finish_reason = finish_reason
        if self._parter is not None:
            parter, self._parter = self._parter, None
            for parted in parter.finish():
                self._place(parted.event, parted.parts)
        channels = self.channels
        looping = channels.finish()
        verdict = channels.verdicts[TEXT] = self._final_verdict(finish_reason)
        # A restatement that was shown is counted, and the conversation's next turn is asked for something else.
        shown = self.opened and verdict.loop_class is LoopClass.RESTATEMENT
        channels.fault = channels.fault or fault_of(
            text=channels.text(),
            reasoning=channels.reasoning(),
            tools=self._tools is not None,
            refusal=self._refused,
            finish_reason=finish_reason,
            verdict=verdict,
            recovered=shown or (channels.recoveries() > 0 and not looping),
        )
        if self._tools is not None and channels.fault is None:
            self._end_of_calls(self._tools)

    def hand_on(self) -> None:
        """Move cleared pieces to `ready`; bare ones wait for the reply to begin, the end of a failed reply stays."""
        for piece in self.channels.held.take():
            self._pass(piece)
        if self.finish_reason is not None and not self._withheld():
            self._begin()

    def _says_no_more(self, piece: Piece, delta: Delta) -> bool:
        """Whether text is all that is to be had of an event."""
        more = self._read_all or self._parter is not None or delta.refusal
        return not (more or piece.reasoning or piece.usage or piece.finish_reason is not None)

    def _sort(self, piece: Piece) -> None:
        """To its gate; until the reply's first word, content goes first to whoever knows thoughts from text."""
        channels = self.channels
        if self._parter is not None:
            for parted in self._parter.feed(piece, piece.text):
                self._place(parted.event, parted.parts)
            if self._parter.over:
                self._parter = None
        elif not piece.text or piece.reasoning or channels.held:
            self._place(piece, ((Place.TEXT, piece.text),) if piece.text else ())
        elif channels.passes(piece.text, self._now):
            self._pass(piece)
        else:
            channels.held.add(piece)
            channels.settle()

    def _place(self, piece: Piece, parts: tuple[tuple[Place, str], ...]) -> None:
        """An event into the queue, each part of its content to its gate."""
        channels = self.channels
        inline = "".join(text for place, text in parts if place is not Place.TEXT)
        channels.held.add(replace(piece, text=piece.text[len(inline) :]) if inline else piece, inline)
        for place, text in parts:
            if place is Place.TAG:
                channels.tag(text)
            else:
                channels.feed(TEXT if place is Place.TEXT else INLINE, text, self._now)
        if piece.reasoning:
            channels.feed(REASONING, piece.reasoning, self._now)

    def _arguments(self, delta: Delta) -> None:
        if self._tools is None:
            self._tools = ToolArguments(self._call, self._policy)
        stuck = self._tools.feed(delta, self._now)
        if stuck is not None and self._policy.mode is not GateMode.OFF:
            self.channels.stop(stuck)

    def _end_of_calls(self, tools: ToolArguments) -> None:
        """Arguments that cannot be read end the reply as broken; such as loop and can be read were shown: they are counted."""
        if (broken := tools.broken()) is not None:
            self.channels.fault, self.detail = Fault.INVALID_FORMAT, broken
        if (looped := tools.verdict()) is not None:
            self.channels.verdicts[TEXT] = looped

    def _final_verdict(self, finish_reason: str) -> Verdict:
        verdict = verdict_with_finish(self.channels.verdicts[TEXT], finish_reason)
        if self._odds is not None and not self.channels.stopped and (finding := self._odds.finish()) is not None:
            verdict = self._odds.told(verdict, finding)
        if self._restated is not None and not verdict.degenerate:
            verdict = restated(self.channels.text(), self._call.previous or "", self._call.profile) or verdict
        return verdict

    def _pass(self, piece: Piece) -> None:
        """A cleared piece to the reader, or to those that wait for the reply to begin."""
        if self._muted:
            return
        if piece.finish_reason is not None and self._withheld():
            self._muted = True
            if not (piece.text or piece.reasoning or piece.tools):
                return
            piece = replace(piece, data=without_end(piece.data), finish_reason=None, usage=False)
        if self.opened:
            self.ready.append(piece)
            return
        self._head.append(piece)
        if piece.tools or piece.reasoning.strip() or (piece.text.strip() and not self._restating(piece.text)):
            self._begin()

    def _restating(self, text: str) -> bool:
        """Whether the head waits, because the previous reply began with the same words."""
        head = self._restated
        if head is None or not head.holds(text, self._now):
            return False
        if head.confirmed and not self.channels.stopped:
            said = self.channels.text()
            verdict = restated(said, (self._call.previous or "")[: len(said)], self._call.profile)
            if verdict is None:
                return False
            self.channels.stop(verdict)
        return True

    def _begin(self) -> None:
        self.opened = True
        self.ready.extend(self._head)
        self._head.clear()

    def _withheld(self) -> bool:
        return self.fault not in (None, Fault.LENGTH_IN_REASONING)


def without_end(data: bytes) -> bytes:
    """An event with its finish reason and usage taken out."""
    body = msgspec.json.decode(data)
    body["choices"][0]["finish_reason"] = None
    body.pop("usage", None)
    return msgspec.json.encode(body)

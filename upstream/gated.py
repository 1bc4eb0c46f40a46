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
from detector import GateMode, GatePolicy, StreamGate
from detector.verdict import GateState, LoopClass, Release, Verdict
from upstream.attempt import Piece, Usage
from upstream.call import Call
from upstream.errors import Garbled, Refused, refusal_under_success
from upstream.held import CHANNELS, INLINE, REASONING, TEXT, Held
from upstream.inline import InlineParter, Place
from upstream.judge import fault_of, verdict_with_finish
from upstream.logprobs import StreamedOdds, without_logprobs
from upstream.restated import RestatedHead, restated
from upstream.shapes import NOT_JSON, Choice, Delta, decode_event, has_tools, text_of

_NO_CHOICE = Choice()
_NO_DELTA = Delta()


class Gated:
    """`take` events in order, then `finish`; what may be sent waits in `ready`."""

    def __init__(self, call: Call, policy: GatePolicy) -> None:
        self.ready: deque[Piece] = deque()
        self.finish_reason: str | None = None
        """None until the model said that it is done."""
        self.fault: Fault | None = None
        self.usage = Usage()
        self.model = ""
        self.system: object = ""
        """The vendor's `system_fingerprint`, as it came last."""
        self.detector_errors = 0
        self.spoke = False
        self._call = call
        self._policy = policy
        self._gates = _gates(call, policy)
        self._said: tuple[list[str], list[str], list[str]] = ([], [], [])
        self._states = [GateState.PASSING] * len(CHANNELS)
        self._verdicts: list[Verdict | None] = [None] * len(CHANNELS)
        self._held = Held()
        self._parter: InlineParter[Piece] | None = InlineParter()
        watching = call.guarded and call.watch_logprobs and policy.mode is not GateMode.OFF
        self._odds = StreamedOdds(repetition_allowed=call.repetition_allowed) if watching else None
        compared = call.guarded and call.previous and not call.repetition_allowed and policy.mode is not GateMode.OFF
        self._restated = RestatedHead(call.previous or "") if compared else None
        self._head: list[Piece] = []
        self._open = False
        self._muted = False
        self._now = 0.0
        self._tools = False
        self._refused = False

    # -- what is asked of it --------------------------------------------------------------------------------------

    @property
    def holding(self) -> bool:
        """Text waits for the gate, or for time to pass."""
        return bool(self._held) or (self._restated is not None and self._restated.holding)

    @property
    def stopped(self) -> bool:
        return GateState.STOPPED in self._states

    @property
    def opened(self) -> bool:
        """Something may have been sent."""
        return self._open

    def text(self) -> str:
        """The authoritative text: what was said without its loops."""
        gate = self._gates[TEXT]
        return gate.cleaned if gate is not None else "".join(self._said[TEXT])

    def raw_text(self) -> str:
        return "".join(self._said[TEXT]) or self.reasoning()

    def reasoning(self) -> str:
        return "".join(self._said[REASONING]) or "".join(self._said[INLINE])

    def gates(self) -> list[StreamGate]:
        return [gate for gate in self._gates if gate is not None]

    def recoveries(self) -> int:
        return sum(gate.counters.recoveries for gate in self.gates())

    def verdict(self, fault: Fault | None) -> Verdict | None:
        """The text's verdict; the reasoning's where the reply fell by its reasoning."""
        text = self._verdicts[TEXT]
        if fault is not Fault.REPETITION or (text is not None and text.degenerate):
            return text
        return self._verdicts[REASONING] or self._verdicts[INLINE] or text

    # -- what happens to it ---------------------------------------------------------------------------------------

    def take(self, data: bytes, now: float) -> bool:
        """One event of the upstream; whether it said something. Raises UpstreamError."""
        self._now = now
        try:
            event = decode_event(data)
        except NOT_JSON:
            raise Garbled(Fault.GARBLED_PROTOCOL, "event is not the promised JSON") from None
        if event.failed:
            if self.spoke:
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
        text = choice.text if choice.text is not None else text_of(delta.content)
        thought = delta.reasoning_content or delta.reasoning
        reasoning = text_of(thought) if thought else ""
        tools = has_tools(delta)
        self._refused = self._refused or bool(delta.refusal)
        self._tools = self._tools or tools
        if self._call.strip_logprobs:
            data = without_logprobs(data)
        piece = Piece(
            data=data,
            text=text,
            reasoning=reasoning,
            tools=tools,
            finish_reason=choice.finish_reason,
            usage=event.usage is not None,
        )
        if self._odds is not None and (finding := self._odds.feed(choice.logprobs)) is not None:
            self._stop(self._odds.told(self._verdicts[TEXT], finding))
        self._sort(piece)
        if choice.finish_reason is not None and self.finish_reason is None:
            self.finish(choice.finish_reason)
        spoke = bool(text or reasoning or tools)
        self.spoke = self.spoke or spoke
        return spoke

    def tick(self, now: float) -> None:
        """Time went by without an event."""
        self._now = now
        for channel, gate in enumerate(self._gates):
            if gate is not None:
                self._judge(channel, lambda gate: gate.tick(now))
        if self._restated is not None and self._restated.overdue(now, self._policy.hold_s):
            self._begin()

    def finish(self, finish_reason: str) -> None:
        """The model says it is done: judge what is still held, then whether this end may be told to the client."""
        self.finish_reason = finish_reason
        if self._parter is not None:
            parter, self._parter = self._parter, None
            for parted in parter.finish():
                self._place(parted.event, parted.parts)
        # Asked before `finish`, which ends a suppression: a loop that ran to the end did not recover.
        looping = self._states[TEXT] is GateState.SUPPRESSING
        for channel in CHANNELS:
            self._judge(channel, lambda gate: gate.finish())
            self._held.drop(channel)
        verdict = self._final_verdict(finish_reason)
        self._verdicts[TEXT] = verdict
        # A restatement that was shown is counted, and the conversation's next turn is asked for something else.
        shown = self._open and verdict.loop_class is LoopClass.RESTATEMENT
        self.fault = self.fault or fault_of(
            text=self.text(),
            reasoning=self.reasoning(),
            tools=self._tools,
            refusal=self._refused,
            finish_reason=finish_reason,
            verdict=verdict,
            recovered=shown or (self.recoveries() > 0 and not looping),
        )

    def hand_on(self) -> None:
        """Move cleared pieces to `ready`; bare ones wait for the reply to begin, the end of a failed reply stays."""
        for piece in self._held.take():
            self._pass(piece)
        if self.finish_reason is not None and not self._withheld():
            self._begin()

    # -- inside ---------------------------------------------------------------------------------------------------

    def _sort(self, piece: Piece) -> None:
        """To its gate; until the reply's first word, content goes first to whoever knows thoughts from text."""
        if self._parter is not None:
            for parted in self._parter.feed(piece, piece.text):
                self._place(parted.event, parted.parts)
            if self._parter is not None and self._parter.over:
                self._parter = None
        elif not piece.text or piece.reasoning or self._held:
            self._place(piece, ((Place.TEXT, piece.text),) if piece.text else ())
        else:
            self._at_once(piece)

    def _at_once(self, piece: Piece) -> None:
        """The road of nearly every event: nothing waits before it, and its gate passes its text whole."""
        self._said[TEXT].append(piece.text)
        gate = self._gates[TEXT]
        if gate is None:
            self._pass(piece)
            return
        try:
            release = gate.feed(piece.text, self._now)
        except Exception:
            self._held.add(piece)
            self._failed(TEXT)
            return
        if release.state is GateState.PASSING and release.text == piece.text:
            self._pass(piece)
        else:
            self._held.add(piece)
            self._obey(TEXT, release)

    def _place(self, piece: Piece, parts: tuple[tuple[Place, str], ...]) -> None:
        """An event into the queue, each part of its content to its gate."""
        inline = "".join(text for place, text in parts if place is not Place.TEXT)
        if inline:
            piece = replace(piece, text=piece.text[len(inline) :])
            if self._gates[INLINE] is None:
                self._gates[INLINE] = _quiet(self._call, self._policy)
        self._held.add(piece, inline)
        for place, text in parts:
            if place is Place.TAG:
                self._tag(text)
            else:
                self._feed(TEXT if place is Place.TEXT else INLINE, text)
        if piece.reasoning:
            self._feed(REASONING, piece.reasoning)

    def _tag(self, text: str) -> None:
        """A tag is not judged. The closing one ends the thought: what its gate still holds is settled before."""
        if self._said[INLINE]:
            self._judge(INLINE, lambda gate: gate.finish())
        self._held.clear(INLINE, text)

    def _feed(self, channel: int, text: str) -> None:
        self._said[channel].append(text)
        self._judge(channel, lambda gate: gate.feed(text, self._now), text)

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
            self._failed(channel)
        else:
            self._obey(channel, release)

    def _failed(self, channel: int) -> None:
        """Whatever the detector stumbles over, a reply is never lost to it (SPEC 2.5)."""
        self.detector_errors += 1
        self._gates[channel] = None
        self._held.clear_all(channel)

    def _obey(self, channel: int, release: Release) -> None:
        self._states[channel] = release.state
        self._verdicts[channel] = release.verdict or self._verdicts[channel]
        if release.text:
            self._held.clear(channel, release.text)
        if release.state is GateState.STOPPED:
            self._held.drop(channel)
            self.fault = self.fault or Fault.REPETITION

    def _stop(self, verdict: Verdict) -> None:
        """Something beside the gate is certain: nothing more is shown, unless the mode says never to stop."""
        self._verdicts[TEXT] = verdict
        if self._policy.mode is GateMode.SUPPRESS:
            return
        self._states[TEXT] = GateState.STOPPED
        garbled = verdict.loop_class in (LoopClass.GARBLE, LoopClass.RARE)
        self.fault = self.fault or (Fault.GARBLE if garbled else Fault.REPETITION)

    def _final_verdict(self, finish_reason: str) -> Verdict:
        verdict = verdict_with_finish(self._verdicts[TEXT], finish_reason)
        if self._odds is not None and not self.stopped and (finding := self._odds.finish()) is not None:
            verdict = self._odds.told(verdict, finding)
        if self._restated is not None and not verdict.degenerate:
            verdict = restated(self.text(), self._call.previous or "", self._call.profile) or verdict
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
        if self._open:
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
        if head.confirmed and not self.stopped:
            verdict = restated(self.text(), (self._call.previous or "")[: len(self.text())], self._call.profile)
            if verdict is not None:
                self._stop(verdict)
        return True

    def _begin(self) -> None:
        self._open = True
        self.ready.extend(self._head)
        self._head.clear()

    def _withheld(self) -> bool:
        return self.fault not in (None, Fault.LENGTH_IN_REASONING)


def _gates(call: Call, policy: GatePolicy) -> list[StreamGate | None]:
    """The gates of text and reasoning; that of inline reasoning is made when there is some."""
    if not call.guarded:
        return [None, None, None]
    text = (
        StreamGate(policy, profile=call.profile, repetition_allowed=call.repetition_allowed)
        if policy.guard_text
        else None
    )
    return [text, _quiet(call, policy), None]


def _quiet(call: Call, policy: GatePolicy) -> StreamGate | None:
    """The gate of a thought. It is suppressed, not stopped: the text after a looped thought may be fine."""
    if not call.guarded or not policy.guard_reasoning or policy.mode is GateMode.OFF:
        return None
    quiet = policy.model_copy(update={"mode": GateMode.SUPPRESS})
    return StreamGate(quiet, repetition_allowed=call.repetition_allowed)


def without_end(data: bytes) -> bytes:
    """An event with its finish reason and usage taken out."""
    body = msgspec.json.decode(data)
    body["choices"][0]["finish_reason"] = None
    body.pop("usage", None)
    return msgspec.json.encode(body)

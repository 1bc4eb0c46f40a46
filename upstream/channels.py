"""The channels of one streamed reply (text, reasoning, reasoning inside the text), each with a gate of its own.

Decides; no socket, no clock. What waits for a gate waits in `held`. A gate that fails turns its channel into pass-through,
and is counted: whatever the detector stumbles over, a reply is never lost to it (SPEC 2.5).
"""

from collections.abc import Callable

from base.faults import Fault
from detector import GateMode, GatePolicy, StreamGate
from detector.verdict import GateState, LoopClass, Release, Verdict
from upstream.call import Call
from upstream.held import CHANNELS, INLINE, REASONING, TEXT, Held


class Channels:
    """`fault` is set once a channel was stopped."""

    def __init__(self, call: Call, policy: GatePolicy, timer: Callable[[], float] | None = None) -> None:
        self.held = Held()
        self.fault: Fault | None = None
        self.errors = 0
        self.verdicts: list[Verdict | None] = [None] * len(CHANNELS)
        self.states = [GateState.PASSING] * len(CHANNELS)
        self._call = call
        self._policy = policy
        self._gates: list[StreamGate | None] = [_loud(call, policy, timer), None, None]
        self.guarded = self._gates[TEXT] is not None and policy.mode is not GateMode.OFF
        self._said: tuple[list[str], list[str], list[str]] = ([], [], [])

    @property
    def stopped(self) -> bool:
        return GateState.STOPPED in self.states

    @property
    def stop_mode(self) -> GateMode | None:
        """What was asked for by whatever stopped the reply; None: nothing did."""
        if not self.stopped:
            return None
        modes = (gate.stop_mode for gate in self.gates())
        return next((mode for mode in modes if mode is not None), self._policy.mode)

    @property
    def stuck(self) -> bool:
        """A loop ended the stream. Garble is another illness, and a reply that says the last one again does go on."""
        if not self.stopped or self.fault is not Fault.REPETITION:
            return False
        verdict = self.verdict(self.fault)
        return verdict is None or verdict.loop_class is not LoopClass.RESTATEMENT

    def gates(self) -> list[StreamGate]:
        return [gate for gate in self._gates if gate is not None]

    def text(self) -> str:
        """The authoritative text: what was said without its loops."""
        gate = self._gates[TEXT]
        return gate.cleaned if gate is not None else "".join(self._said[TEXT])

    def raw_text(self) -> str:
        return "".join(self._said[TEXT]) or self.reasoning()

    def said(self) -> str:
        """Everything, in any channel: what is billed."""
        return "".join("".join(parts) for parts in self._said)

    def reasoning(self) -> str:
        return "".join(self._said[REASONING]) or "".join(self._said[INLINE])

    def recoveries(self) -> int:
        return sum(gate.counters.recoveries for gate in self.gates())

    def verdict(self, fault: Fault | None) -> Verdict | None:
        """The text's verdict; the reasoning's where the reply fell by its reasoning."""
        text = self.verdicts[TEXT]
        if fault is not Fault.REPETITION or (text is not None and text.degenerate):
            return text
        return self.verdicts[REASONING] or self.verdicts[INLINE] or text

    def passes(self, text: str, now: float) -> bool:
        """Feed the text channel while nothing is held; whether all of `text` may go at once, as nearly always.

        If not, the caller holds the event and calls `settle`.
        """
        self._said[TEXT].append(text)
        gate = self._gates[TEXT]
        if gate is None or gate.passes(text):
            return True
        try:
            self._release = gate.feed(text, now)
        except Exception:
            self._release = None
            return False
        return self._release.state is GateState.PASSING and self._release.text == text

    def settle(self) -> None:
        """Do what the gate said of the event that did not pass."""
        if self._release is None:
            self._failed(TEXT)
        else:
            self._obey(TEXT, self._release)

    def feed(self, channel: int, text: str, now: float) -> None:
        """Text of an event that is in `held`."""
        if channel != TEXT and not self._said[channel]:
            # Most replies have no reasoning: its gate, half the price of a stream's start, is made when there is some.
            self._gates[channel] = _quiet(self._call, self._policy)
        self._said[channel].append(text)
        self._judge(channel, lambda gate: gate.feed(text, now), text)

    def tag(self, text: str) -> None:
        """A tag is not judged. The closing one ends the thought: what its gate still holds is settled before."""
        if self._said[INLINE]:
            self._judge(INLINE, lambda gate: gate.finish())
        self.held.clear(INLINE, text)

    def tick(self, now: float) -> None:
        for channel in CHANNELS:
            self._judge(channel, lambda gate: gate.tick(now))

    def finish(self) -> bool:
        """The reply ended; whether its text was looping to the very end."""
        # Asked before `finish`, which ends a suppression: a loop that ran to the end did not recover.
        looping = self.states[TEXT] is GateState.SUPPRESSING
        for channel in CHANNELS:
            self._judge(channel, lambda gate: gate.finish())
            self.held.drop(channel)
        return looping

    def stop(self, verdict: Verdict) -> None:
        """Something beside the gate is certain: nothing more is shown, unless the mode says never to stop."""
        self.verdicts[TEXT] = verdict
        if self._policy.mode is GateMode.SUPPRESS:
            return
        self.states[TEXT] = GateState.STOPPED
        garbled = verdict.loop_class in (LoopClass.GARBLE, LoopClass.RARE)
        self.fault = self.fault or (Fault.GARBLE if garbled else Fault.REPETITION)

    def _judge(self, channel: int, ask: Callable[[StreamGate], Release], text: str = "") -> None:
        gate = self._gates[channel]
        if gate is None:
            if text:
                self.held.clear(channel, text)
            return
        try:
            release = ask(gate)
        except Exception:
            self._failed(channel)
        else:
            self._obey(channel, release)

    def _failed(self, channel: int) -> None:
        self.errors += 1
        self._gates[channel] = None
        self.held.clear_all(channel)

    def _obey(self, channel: int, release: Release) -> None:
        self.states[channel] = release.state
        self.verdicts[channel] = release.verdict or self.verdicts[channel]
        if release.text:
            self.held.clear(channel, release.text)
        if release.state is GateState.STOPPED:
            self.held.drop(channel)
            self.fault = self.fault or Fault.REPETITION

    _release: Release | None = None


def _loud(call: Call, policy: GatePolicy, timer: Callable[[], float] | None) -> StreamGate | None:
    if not call.guarded or not policy.guard_text:
        return None
    return StreamGate(policy, profile=call.profile, repetition_allowed=call.repetition_allowed, timer=timer)


def _quiet(call: Call, policy: GatePolicy) -> StreamGate | None:
    """The gate of a thought. It is suppressed, not stopped: the text after a looped thought may be fine."""
    if not call.guarded or not policy.guard_reasoning or policy.mode is GateMode.OFF:
        return None
    quiet = policy.model_copy(update={"mode": GateMode.SUPPRESS})
    return StreamGate(quiet, repetition_allowed=call.repetition_allowed)

"""The arguments of a reply's tool calls: gathered from their pieces, scored apart, read as the JSON they must be.

Decides; no socket, no clock. Deltas of tool calls pass unchanged whatever is found here (SPEC 2.5): a client that has begun
to read a call cannot be given another in its place. What is found is counted and told at the end; a call whose arguments run
on in a loop is stopped, since nothing of it will ever be whole.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from detector import GateMode, GatePolicy, StreamGate, score
from detector.verdict import GateState, Verdict
from upstream.call import Call
from upstream.shapes import NOT_JSON, Delta

PROFILE = "structured"
"""Arguments are JSON: its keys repeat by nature."""
_OLD_STYLE = -1
"""The place of `function_call`, the one call of a reply before there were `tool_calls`."""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None
    """A string of JSON. Some vendors send an object: whole and good by being there."""


class _ToolCall(msgspec.Struct):
    index: int | None = None
    function: _Function | None = None


_decode_calls = msgspec.json.Decoder(list[_ToolCall]).decode
_decode_function = msgspec.json.Decoder(_Function).decode


class ToolArguments:
    """Of one reply. `feed` its deltas in order, or its one message."""

    def __init__(self, call: Call, policy: GatePolicy) -> None:
        self._allowed = call.repetition_allowed
        self._guarded = call.guarded and policy.mode is not GateMode.OFF
        self._quiet = policy.model_copy(update={"mode": GateMode.SUPPRESS})
        self._names: dict[int, str] = {}
        self._said: dict[int, list[str]] = {}
        self._gates: dict[int, StreamGate] = {}

    def feed(self, delta: Delta, now_s: float) -> Verdict | None:
        """Take one delta; the verdict on arguments that have looped for so long that the stream is stuck, else None."""
        for at, function in functions_of(delta):
            if function.name:
                self._names[at] = function.name
            if isinstance(said := function.arguments, str) and said:
                self._said.setdefault(at, []).append(said)
                if self._guarded and (stuck := self._watched(at, said, now_s)) is not None:
                    return stuck
        return None

    def broken(self) -> str | None:
        """What is wrong with the first arguments that cannot be read; None: all can."""
        for at, parts in self._said.items():
            if (why := unreadable(self._names.get(at, ""), "".join(parts))) is not None:
                return why
        return None

    def verdict(self) -> Verdict | None:
        """The verdict on the first arguments that loop; None: none does."""
        if not self._guarded:
            return None
        for parts in self._said.values():
            verdict = score("".join(parts), profile=PROFILE, repetition_allowed=self._allowed)
            if verdict.degenerate:
                return verdict
        return None

    def _watched(self, at: int, said: str, now_s: float) -> Verdict | None:
        gate = self._gates.get(at)
        if gate is None:
            gate = self._gates[at] = StreamGate(self._quiet, PROFILE, self._allowed)
        release = gate.feed(said, now_s)
        return release.verdict if release.state is GateState.STOPPED else None


def functions_of(delta: Delta) -> Iterable[tuple[int, _Function]]:
    """Each function of a delta or message with its place; nothing of what is no call in OpenAI's shape."""
    try:
        if (calls := bytes(delta.tool_calls)) not in (b"", b"null"):
            for at, call in enumerate(_decode_calls(calls)):
                if call.function is not None:
                    yield at if call.index is None else call.index, call.function
        if (one := bytes(delta.function_call)) not in (b"", b"null"):
            yield _OLD_STYLE, _decode_function(one)
    except NOT_JSON:
        return  # a vendor's own shape: passed as it comes


def unreadable(name: str, said: str) -> str | None:
    """Why arguments cannot be read, told to a model that is asked again; None where they can, or where there are none."""
    if not said.strip():
        return None
    try:
        msgspec.json.decode(said)
    except NOT_JSON as error:
        return f"the arguments of tool call {name[:64]!r} are not valid JSON: {error}"
    return None

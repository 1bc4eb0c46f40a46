"""What a whole reply amounts to: its text parted from its reasoning, cleaned, and judged.

Pure: bytes of a body in, the fields of an Attempt out. Raises UpstreamError for what is no reply.
"""

import logging
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import msgspec

from base.faults import Fault
from detector import GateMode, GatePolicy, StreamGate, score_logprobs, scoring, with_finding
from detector.verdict import CLEAN, GateState, LoopClass, Verdict
from upstream.attempt import Usage
from upstream.call import Call
from upstream.errors import Garbled, refusal, refusal_under_success
from upstream.inline import split_inline
from upstream.judge import fault_of, verdict_with_finish
from upstream.logprobs import positions_of, without_logprobs
from upstream.shapes import NOT_JSON, Choice, Delta, decode_event, has_tools, text_of
from upstream.tool_arguments import ToolArguments

log = logging.getLogger("pointsman.upstream")
Timer = Callable[[], float]
JUDGED_PATHS = frozenset({"/chat/completions", "/completions"})
Steps = Generator[None, None, dict[str, Any]]


def judging(
    call: Call, status: int, retry_after: str, body: bytes, gate: GatePolicy, timer: Timer | None = None
) -> Steps:
    """The fields of an Attempt that a whole reply decides, in short steps; `timer` gives seconds. Raises UpstreamError."""
    if not 200 <= status < 300:
        raise refusal(status, decoded_or_none(body), retry_after or None)
    try:
        # What is skipped is not looked at by the decoder, but goes to the client as it is.
        if not body.isascii():
            body.decode()
        event = decode_event(body)
    except NOT_JSON:
        raise Garbled(Fault.GARBLED_PROTOCOL, "reply is not the promised JSON", status=status) from None
    if event.failed:
        # Several vendors answer 200 and put the error in the body.
        raise refusal_under_success(decoded_or_none(body))
    found: dict[str, Any] = {
        "body": body,
        "usage": event.usage.usage() if event.usage else Usage(),
        "served_model": event.model or "",
        "system_fingerprint": str(event.system_fingerprint or ""),
    }
    if call.path not in JUDGED_PATHS:
        return found
    choice = event.choices[0] if event.choices else Choice()
    return found | (yield from _judging_choice(call, choice, body, gate, timer))


def decoded_or_none(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except NOT_JSON:
        return None


def _judging_choice(call: Call, choice: Choice, body: bytes, gate: GatePolicy, timer: Timer | None) -> Steps:
    message = choice.message or Delta()
    said = choice.text if choice.text is not None else text_of(message.content)
    head, thought, raw = split_inline(said)
    reasoning = text_of(message.reasoning_content) or text_of(message.reasoning) or thought
    finish = choice.finish_reason
    tools = has_tools(message)
    beside = reasoning if raw or tools else ""  # a thought that is all there is decides what the reply amounts to
    verdict, errors = yield from _safe_verdict(call, choice, raw, "" if beside else reasoning, timer)
    kept, failed = yield from _kept_of(beside, call, gate, timer)
    if len(kept) < len(beside):
        head = head.replace(beside, kept, 1)
        body = _with_thought(body, beside, kept, head + raw)
    text, recoveries = raw, 0
    if raw and verdict.degenerate and verdict.unit and verdict.loop_class is not LoopClass.RESTATEMENT:
        text, recoveries = cleaned(raw, call, gate)
        if recoveries and finish != "length":
            body = _with_text(body, head + text)
    if call.strip_logprobs:
        body = without_logprobs(body)
    verdict = verdict_with_finish(verdict, finish)
    if tools and not verdict.degenerate:
        arguments = ToolArguments(call, gate)
        arguments.feed(message, 0.0)
        verdict = arguments.verdict() or verdict
    fault = fault_of(
        text=text,
        reasoning=reasoning,
        tools=tools,
        refusal=bool(message.refusal),
        finish_reason=finish,
        verdict=verdict,
        recovered=recoveries > 0 and finish != "length",
    )
    return {
        "body": body,
        "text": text,
        "raw_text": raw or reasoning,
        "finish_reason": finish,
        "verdict": verdict,
        "fault": fault,
        "recoveries": recoveries,
        "suppressed_chars": len(raw) - len(text) + len(beside) - len(kept),
        "detector_errors": errors + failed,
        "guarded": call.guarded,
        "trips": int(verdict.degenerate) + (len(kept) < len(beside)),
    }


def _safe_verdict(
    call: Call, choice: Choice, raw: str, reasoning: str, timer: Timer | None
) -> Generator[None, None, tuple[Verdict, int]]:
    """The verdict, and how often the detector failed at it: whatever it stumbles over, no reply is lost to it (SPEC 2.5)."""
    try:
        return (yield from _verdict(call, choice, raw, reasoning, timer)), 0
    except Exception:
        log.exception("the detector failed on a whole reply")
        return CLEAN, 1


def _verdict(
    call: Call, choice: Choice, raw: str, reasoning: str, timer: Timer | None
) -> Generator[None, None, Verdict]:
    if not call.guarded:
        return CLEAN
    verdict, allowed = CLEAN, call.repetition_allowed
    if raw:
        verdict = yield from scoring(
            raw, previous=call.previous, profile=call.profile, repetition_allowed=allowed, timer=timer
        )
    elif reasoning:
        verdict = yield from scoring(reasoning, repetition_allowed=allowed, timer=timer)
    if call.watch_logprobs and (positions := positions_of(choice.logprobs)):
        finding = score_logprobs(positions)
        if finding is not None and not (allowed and finding.loop_class is not LoopClass.GARBLE):
            verdict = with_finding(verdict, finding, positions)
    return verdict


def _kept_of(
    thought: str, call: Call, policy: GatePolicy, timer: Timer | None
) -> Generator[None, None, tuple[str, int]]:
    """A thought beside a text or tool calls as a stream's gate would leave it, and how often the detector failed at it.

    It is cleaned and counted, and never costs what follows it (DETECTION.md, channels).
    """
    if not thought or not call.guarded or not policy.guard_reasoning or policy.mode is GateMode.OFF:
        return thought, 0
    try:
        verdict = yield from scoring(thought, repetition_allowed=call.repetition_allowed, timer=timer)
        looped = verdict.degenerate and verdict.unit
        return (cleaned(thought, replace(call, profile=None), policy)[0] if looped else thought), 0
    except Exception:
        log.exception("the detector failed on the reasoning of a whole reply")
        return thought, 1


def cleaned(raw: str, call: Call, policy: GatePolicy) -> tuple[str, int]:
    """A whole text without its loops, and how many of them ended by themselves; 0 when the last one ran to the end."""
    gate = StreamGate(
        policy.model_copy(update={"mode": GateMode.SUPPRESS, "hard_stop": False}),
        profile=call.profile,
        repetition_allowed=call.repetition_allowed,
    )
    gate.feed(raw, 0.0)
    looping = gate.state is not GateState.PASSING
    gate.finish()
    return gate.cleaned, 0 if looping else gate.counters.recoveries


def _with_thought(body: bytes, thought: str, kept: str, content: str) -> bytes:
    """The reply with `kept` in the place of `thought`, in whichever field it came; `content`: the text with its inline thought."""
    reply = msgspec.json.decode(body)
    choice = reply["choices"][0]
    message = choice.get("message") or {}
    fields = [name for name in ("reasoning_content", "reasoning") if message.get(name) == thought]
    message |= dict.fromkeys(fields, kept)
    if not fields and isinstance(choice.get("text"), str):
        choice["text"] = content
    elif not fields:
        message["content"] = content
    choice.pop("logprobs", None)
    return msgspec.json.encode(reply)


def _with_text(body: bytes, text: str) -> bytes:
    """The cleaned text is what the client gets; the probabilities of dropped tokens would tell the dropped text."""
    reply = msgspec.json.decode(body)
    choice = reply["choices"][0]
    if isinstance(choice.get("text"), str):
        choice["text"] = text
    else:
        choice["message"]["content"] = text
    choice.pop("logprobs", None)
    return msgspec.json.encode(reply)

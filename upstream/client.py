"""One judged conversation with one model, over any httpx transport.

Acts: sends one request, reads one reply, and says in an Attempt what came of it. Never raises for what a model did;
raises only CancelledError. The transport is called directly: httpx.AsyncClient costs 150 to 270 µs a call on top of any transport.
"""

import asyncio
from functools import lru_cache
from typing import Any

import httpx
import msgspec

from base.clock import Clock
from base.faults import Fault
from detector import GateMode, GatePolicy, StreamGate, score
from detector.verdict import CLEAN, GateState, LoopClass
from upstream.attempt import Attempt, Usage
from upstream.call import Call, Endpoint, Timeouts
from upstream.errors import CAUGHT, Garbled, TimedOut, UpstreamError, mapped, refusal, refusal_under_success
from upstream.judge import fault_of, verdict_with_finish
from upstream.shapes import NOT_JSON, Choice, Delta, decode_event, has_tools, text_of
from upstream.stream import ReplyStream

JUDGED_PATHS = frozenset({"/chat/completions", "/completions"})


class Upstream:
    """Speaks to models. `transport` is shared and stays open; whoever made it closes it."""

    def __init__(self, transport: httpx.AsyncBaseTransport, clock: Clock, gate: GatePolicy | None = None) -> None:
        self._transport = transport
        self._clock = clock
        self._gate = gate or GatePolicy()

    async def complete(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Attempt:
        """Ask for a whole reply and judge it. `total_s` bounds everything, `connect_s` the connecting."""
        clock = self._clock
        started_at, began = clock.now_s(), clock.monotonic_s()
        status: int | None = None
        try:
            limit = asyncio.timeout(clock.real_s(max(0.0, timeouts.total_s)))
            async with limit:
                response = await self._send(call, endpoint, timeouts)
                status = response.status_code
                try:
                    body = await response.aread()
                finally:
                    await response.aclose()
            judged = _judged(call, response, body, self._gate)
        except UpstreamError as error:
            failed: UpstreamError = error
        except TimeoutError:
            failed = TimedOut(Fault.TIMEOUT_TOTAL, "total")
        except CAUGHT as error:
            failed = mapped(error)
        else:
            elapsed = clock.monotonic_s() - began
            return Attempt(started_at=started_at, elapsed_s=elapsed, first_text_s=elapsed, status=status, **judged)
        return Attempt(
            started_at=started_at,
            elapsed_s=clock.monotonic_s() - began,
            status=status,
            fault=failed.fault,
            detail=failed.detail,
            retry_after_s=failed.retry_after_s,
            reply=failed.told,
        )

    def stream(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> ReplyStream:
        """A reply as pieces cleared for sending; nothing is sent before the first iteration."""

        async def send() -> httpx.Response:
            return await self._send(call, endpoint, timeouts)

        return ReplyStream(send, call, timeouts, self._clock, self._gate)

    async def _send(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> httpx.Response:
        # The endpoint's fields are defaults: what the caller asked, and what a retry recipe changed, wins.
        body = {**(endpoint.extra_body or {}), **call.body, "model": endpoint.upstream_model}
        if call.stream or "stream" in body:
            body["stream"] = call.stream
        url, headers = _address(endpoint.base_url + call.path, endpoint.api_key)
        request = httpx.Request(
            "POST",
            url,
            headers=headers,
            content=msgspec.json.encode(body),
            extensions={"timeout": {"connect": self._clock.real_s(timeouts.connect_s)}},
        )
        return await self._transport.handle_async_request(request)


@lru_cache(maxsize=1024)
def _address(url: str, api_key: str) -> tuple[httpx.URL, tuple[tuple[str, str], ...]]:
    """URL and headers of an endpoint, parsed once."""
    headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        # A compressed stream arrives in lumps: the compressor waits for more.
        ("accept-encoding", "identity"),
        ("user-agent", "pointsman"),
    ]
    if api_key:
        headers.append(("authorization", f"Bearer {api_key}"))
    return httpx.URL(url), tuple(headers)


def error_of(response: httpx.Response, body: bytes) -> UpstreamError:
    """Our error for a reply whose status is no success."""
    try:
        decoded: Any = msgspec.json.decode(body)
    except NOT_JSON:
        decoded = None
    return refusal(response.status_code, decoded, response.headers.get("retry-after"))


def _judged(call: Call, response: httpx.Response, body: bytes, gate: GatePolicy) -> dict[str, Any]:
    """The fields of an Attempt that a whole reply decides. Raises UpstreamError."""
    if not 200 <= response.status_code < 300:
        raise error_of(response, body)
    try:
        reply = msgspec.json.decode(body)
        event = decode_event(body)
    except NOT_JSON:
        raise Garbled(Fault.GARBLED_PROTOCOL, "reply is not the promised JSON", status=response.status_code) from None
    if event.failed:
        # Several vendors answer 200 and put the error in the body.
        raise refusal_under_success(reply)
    found: dict[str, Any] = {
        "reply": reply,
        "usage": event.usage.usage() if event.usage else Usage(),
        "served_model": event.model or "",
    }
    if call.path not in JUDGED_PATHS:
        return found
    return found | _judged_choice(call, event.choices[0] if event.choices else Choice(), reply, gate)


def _judged_choice(call: Call, choice: Choice, reply: Any, gate: GatePolicy) -> dict[str, Any]:
    message = choice.message or Delta()
    raw = choice.text if choice.text is not None else text_of(message.content)
    reasoning = text_of(message.reasoning_content) or text_of(message.reasoning)
    verdict = CLEAN
    if call.guarded and raw:
        verdict = score(raw, previous=call.previous, profile=call.profile, repetition_allowed=call.repetition_allowed)
    elif call.guarded and reasoning:
        verdict = score(reasoning, repetition_allowed=call.repetition_allowed)
    finish = choice.finish_reason
    text, recoveries = raw, 0
    if raw and verdict.degenerate and verdict.loop_class is not LoopClass.RESTATEMENT:
        text, recoveries = cleaned(raw, call, gate)
        if recoveries and finish != "length":
            _put_text(reply, text)
    verdict = verdict_with_finish(verdict, finish)
    fault = fault_of(
        text=text,
        reasoning=reasoning,
        tools=has_tools(message),
        refusal=bool(message.refusal),
        finish_reason=finish,
        verdict=verdict,
        recovered=recoveries > 0 and finish != "length",
    )
    return {
        "text": text,
        "raw_text": raw or reasoning,
        "finish_reason": finish,
        "verdict": verdict,
        "fault": fault,
        "recoveries": recoveries,
        "suppressed_chars": len(raw) - len(text),
    }


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


def _put_text(reply: Any, text: str) -> None:
    """The cleaned text is what the client gets; the reply was decoded for this call alone, so it may be changed."""
    choice = reply["choices"][0]
    if isinstance(choice.get("text"), str):
        choice["text"] = text
    else:
        choice["message"]["content"] = text
    choice.pop("logprobs", None)

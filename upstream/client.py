"""One judged conversation with one model, over any httpx transport.

Acts: sends one request, reads one reply, and says in an Attempt what came of it. Never raises for what a model did;
raises only CancelledError.
"""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import msgspec

from base.clock import Clock, turn
from base.faults import Fault
from detector import GateMode, GatePolicy
from upstream.attempt import Attempt
from upstream.call import Call, Endpoint, Timeouts
from upstream.errors import CAUGHT, TimedOut, UpstreamError, mapped
from upstream.peer import Peer, Reply, StockPeer, address_of
from upstream.stream import ReplyStream
from upstream.transport import FastTransport
from upstream.whole import Steps, judging

SLICE_S = 0.002
"""Real seconds that one reply is judged at a stretch; then everybody else on the loop has a turn."""


class Upstream:
    """Speaks to models. `transport` (ours, or any of httpx's) is shared and stays open; whoever made it closes it."""

    def __init__(
        self, transport: httpx.AsyncBaseTransport | Peer, clock: Clock, gate: GatePolicy | None = None
    ) -> None:
        if isinstance(transport, httpx.AsyncBaseTransport) and not isinstance(transport, FastTransport):
            self._peer: Peer = StockPeer(transport)
        else:
            self._peer = transport
        self._clock = clock
        self._gate = gate or GatePolicy()

    def adopt(self, gate: GatePolicy) -> None:
        """Guard by other rules from the next call on."""
        self._gate = gate

    async def complete(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Attempt:
        """Ask for a whole reply and judge it. `total_s` bounds everything, `connect_s` the connecting."""
        clock, call = self._clock, self._by_policy(call)
        started_at, began = clock.now_s(), clock.monotonic_s()
        status: int | None = None
        try:
            async with asyncio.timeout(clock.real_s(max(0.0, timeouts.total_s))):
                reply = await self._ask(call, endpoint, timeouts)
                status = reply.status
                try:
                    body = await reply.read()
                finally:
                    await reply.aclose()
            steps = judging(call, status, reply.header("retry-after"), body, self._gate, clock.monotonic_s)
            fields = await _in_turns(steps)
        except UpstreamError as error:
            failed: UpstreamError = error
        except TimeoutError:
            failed = TimedOut(Fault.TIMEOUT_TOTAL, "total")
        except CAUGHT as error:
            failed = mapped(error)
        else:
            elapsed = clock.monotonic_s() - began
            return Attempt(started_at=started_at, elapsed_s=elapsed, first_text_s=elapsed, status=status, **fields)
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

        call = self._by_policy(call)

        async def ask() -> Reply:
            return await self._ask(call, endpoint, timeouts)

        return ReplyStream(ask, call, timeouts, self._clock, self._gate)

    def _by_policy(self, call: Call) -> Call:
        """Whom the gate's policy leaves alone is passed as it comes."""
        gate = self._gate
        if not call.guarded or not call.model or gate.mode is GateMode.OFF:
            return call
        guarded = gate.guards(model=call.model, vendor=call.vendor, auxiliary=call.auxiliary)
        return call if guarded else replace(call, guarded=False)

    async def _ask(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Reply:
        # The endpoint's fields are defaults: what the caller asked, and what a retry recipe changed, wins.
        body = {**(endpoint.extra_body or {}), **call.body, "model": endpoint.upstream_model}
        if call.stream or "stream" in body:
            body["stream"] = call.stream
        address = address_of(endpoint.base_url + call.path, endpoint.api_key)
        return await self._peer.post(address, msgspec.json.encode(body), self._clock.real_s(timeouts.connect_s))


async def _in_turns(steps: Steps) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    until = loop.time() + SLICE_S
    while True:
        try:
            next(steps)
        except StopIteration as done:
            fields: dict[str, Any] = done.value
            return fields
        if loop.time() >= until:
            await turn()
            until = loop.time() + SLICE_S

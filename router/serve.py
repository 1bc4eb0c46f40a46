"""The attempt loop: rung after rung until something may be sent, whole or streamed.

Acts: calls models. What to do next is decided by Journey and the pure ladder.
A rung is changed silently only while nothing was sent; afterwards a stream goes on with another model, or is cut.
"""

import asyncio

from base.faults import Fault
from router.endings import answer_of
from router.journey import Answer, Journey, Rung
from router.stream_run import Out, StreamRun
from upstream.attempt import Attempt


async def serve_whole(journey: Journey) -> Answer:
    """Return the answer after as many attempts as the ladder allows."""
    while (rung := await next_rung(journey)) is not None:
        with rung.scope:
            call, endpoint = journey.call(rung), journey.endpoint(rung)
            began_at, began_s = journey.deps.clock.now_s(), journey.elapsed_s()
            try:
                attempt = await journey.deps.models.complete(call, endpoint, journey.timeouts(rung))
            except asyncio.CancelledError:
                lasted_s = journey.elapsed_s() - began_s
                # Whose end it is, the journey knows.
                journey.record(rung, Attempt(started_at=began_at, elapsed_s=lasted_s, fault=Fault.ABANDONED))
                raise
            attempt = journey.record(rung, attempt)
        if _may_be_handed_on(attempt):
            journey.served, journey.fallback = rung.model, journey.fallback_of(rung)
            break
    return answer_of(journey)


async def next_rung(journey: Journey) -> Rung | None:
    """Return the next rung; when all endpoints only rest, or all models cool down, wait for the first inside the deadline.

    Also gives a vendor that has too much to do the pause before it is asked again.
    """
    rung = journey.next_rung()
    while rung is None and (wait_s := journey.rest_s()) is not None:
        await journey.deps.clock.sleep(wait_s)
        if (rung := journey.next_rung(rested=True)) is not None:
            return rung
    if rung is not None and journey.tried and (pause_s := journey.pause_s(rung)) > 0:
        await journey.deps.clock.sleep(pause_s)
    return rung


async def serve_stream(journey: Journey, out: Out) -> Answer | None:
    """Stream the reply to `out`; an Answer instead when nothing was sent and nothing can be streamed."""
    run = StreamRun(journey, out)
    while (rung := await next_rung(journey)) is not None:
        attempt = await run.attempt(rung)
        if _may_be_handed_on(attempt):
            await run.finish(rung, attempt)
            return None
        if out.started and not run.may_splice():
            break
    if out.started:
        await run.cut()
        return None
    return await run.unsent()


def _may_be_handed_on(attempt: Attempt) -> bool:
    fault = attempt.fault
    return fault is None or fault in (Fault.REFUSAL, Fault.LENGTH_IN_REASONING)

"""The real small model falls into a loop by itself, and the gate sees it."""

import pytest

from base.clock import SystemClock
from base.faults import Fault
from pointsman.demo.small_model import ALIAS, SICK, SmallModel, available
from upstream.call import Call, Endpoint, Timeouts
from upstream.client import Upstream
from upstream.transport import FastTransport


@pytest.mark.model
@pytest.mark.timeout(400)
@pytest.mark.skipif(available() is not None, reason=str(available()))
async def test_greedy_decoding_without_penalty_loops_and_is_cut() -> None:
    transport = FastTransport()
    async with SmallModel() as model:
        endpoint = Endpoint(base_url=model.base_url, upstream_model=ALIAS, extra_body=dict(SICK))
        messages = [{"role": "user", "content": "请用中文详细介绍一下北京的历史。"}]
        call = Call(body={"messages": messages}, stream=True)
        patient = Timeouts(first_text_s=120, idle_s=120, total_s=300)
        reply = Upstream(transport, SystemClock()).stream(call, endpoint, patient)
        sent = "".join([piece.text async for piece in reply])
    await transport.aclose()
    assert reply.attempt is not None and reply.attempt.fault is Fault.REPETITION
    assert sent.startswith(reply.attempt.text)
    assert reply.attempt.served_model == ALIAS

"""A route with a model that hangs, resets or answers garbage: every request is answered by the good one, and none waits for
more than one attempt at the bad one."""

import asyncio

import pytest

from tests.support.raw_upstream import Bytes, chunk, message, raw_world, stream, whole
from tests.support.router_world import streamed_text
from upstream.call import Timeouts

FINE = "A train leaves the station and the points are set for the branch line."
LIMITS = Timeouts(connect_s=3.0, first_text_s=3.0, idle_s=3.0, total_s=6.0)
REQUESTS = 40
BAD = {
    "hangs": (Bytes(parts=[], then="stall"), Bytes(parts=[], then="stall")),
    "resets": (Bytes(parts=[b"{"], then="reset"), Bytes(parts=[], then="reset")),
    "answers garbage": (whole(b"<html>busy</html>"), Bytes(parts=[b"data: <html>\n\n"])),
    "answers nothing": (whole(message("")), stream()),
    "keeps alive for ever": (Bytes(parts=[b" "], then="beat"), Bytes(parts=[b": wait\n\n"], then="beat")),
    "breaks in the middle": (
        Bytes(parts=[b'{"choices": ['], kind="application/json"),
        Bytes(parts=[chunk({"role": "assistant", "content": ""})], then="reset"),
    ),
    "crashes": (whole({"error": "x"}, status=500), whole({"error": "x"}, status=500)),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("how", BAD)
async def test_every_request_is_answered_and_none_pays_more_than_one_attempt(how: str, streamed: bool) -> None:
    good = stream(FINE) if streamed else whole(message(FINE))
    answers = {"bad": BAD[how][streamed], "good": good}
    equal = {"bad": 0, "good": 0}
    async with raw_world(answers, names=("bad", "good"), priorities=equal, timeouts=LIMITS) as (world, raw):
        replies = await asyncio.gather(*(world.ask(stream=streamed) for _ in range(REQUESTS)))
        rows = world.log.calls
        assert [reply.status_code for reply in replies] == [200] * REQUESTS
        said = [streamed_text(r) if streamed else r.json()["choices"][0]["message"]["content"] for r in replies]
        assert said == [FINE] * REQUESTS
        assert {row.served_model for row in rows} == {"good"} and {row.fallback for row in rows} <= {"none", "model"}
        assert 0 < raw.asked.count("bad") < REQUESTS, "it has its share until the breaker takes it away"
        for row in rows:
            before = [tried for tried in row.attempts if tried["model"] == "bad"]
            assert len(before) <= 1 and len(row.attempts) == len(before) + 1
            # Its own limit and the time this machine took to notice: never the sum of several limits.
            assert all(tried["elapsed_ms"] < (LIMITS.total_s + 3.0) * 1000 for tried in before)

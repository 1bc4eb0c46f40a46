"""Faults that users of other gateways reported, over real sockets: routing, cooling, accounts of failures (docs/cases.md)."""

import asyncio
import socket
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from breaker.levels import Level
from router.errors import AllModelsDown
from router.topology import Candidate, Topology, WhenDown
from tests.support.raw_upstream import Bytes, chunk, message, raw_world, stream, whole
from tests.support.router_world import CATALOG, events, streamed_text
from upstream.call import Timeouts

FINE = "The tram stops beside the old mill, and a path leads up to the ridge."
GOOD = whole(message(FINE))


def failing(status: int, body: Any = None) -> Bytes:
    return whole({"error": {"message": "m", "code": None}} if body is None else body, status=status)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 508, 520, 524, 529, 599])
async def test_every_status_that_is_not_the_callers_fails_over(status: int, streamed: bool) -> None:
    async with raw_world({"a": failing(status), "b": stream(FINE) if streamed else GOOD}) as (world, raw):
        response = await world.ask(stream=streamed)
        assert response.headers["x-pointsman-model"] == "b"
        assert raw.asked == ["a", "b"]


@pytest.mark.parametrize("order", ["abc", "cab"])
async def test_weights_are_obeyed_whatever_their_order_and_again_after_a_cool_down(order: str) -> None:
    weights = {"a": 0.0, "b": 1.0, "c": 3.0}
    async with raw_world(dict.fromkeys("abc", GOOD), names=order) as (world, raw):
        kept = world.deps.topology
        drawn = tuple(Candidate(model=name, weight=weights[name]) for name in order)
        world.deps.topology = Topology(
            models=kept.models, routes={"main": replace(kept.routes["main"], candidates=drawn)}
        )

        async def served() -> Counter[str]:
            raw.asked.clear()
            for _ in range(120):
                assert (await world.ask()).status_code == 200
            return Counter(raw.asked)

        before = await served()
        world.guard.at["c"] = Level.OPEN
        assert set(await served()) == {"b"}, "the first that is able has the least weight, or none"
        del world.guard.at["c"]
        for counted in (before, await served()):
            assert counted["a"] == 0 and 60 < counted["c"] < 115 and counted["b"] == 120 - counted["c"]


async def test_a_model_taken_out_of_service_while_a_request_runs_is_not_picked_by_its_retry() -> None:
    async with raw_world({"b": GOOD, "c": GOOD}) as (world, raw):

        def fails_and_b_is_forced_open(_: dict[str, Any]) -> Bytes:
            world.guard.at["b"] = Level.OPEN
            return failing(500)

        raw.answers["a"] = fails_and_b_is_forced_open
        response = await world.ask()
        assert response.headers["x-pointsman-model"] == "c"
        assert raw.asked == ["a", "c"], "no id twice, none that is out of service"


async def test_a_tier_that_fails_as_a_whole_leaves_an_attempt_for_the_lower_tier() -> None:
    answers: dict[str, Any] = dict.fromkeys("abcd", failing(429))
    tiers = {"a": 0, "b": 0, "c": 0, "d": 1}
    async with raw_world({**answers, "e": GOOD, "d": GOOD}, names="abcd", priorities=tiers) as (world, raw):
        for _ in range(5):
            raw.asked.clear()
            assert (await world.ask()).headers["x-pointsman-model"] == "d"
            assert len(set(raw.asked)) == len(raw.asked) == 3


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
async def test_a_request_that_finds_every_model_resting_waits_for_the_first_and_is_answered(streamed: bool) -> None:
    def rests_once(name: str, rest_s: int) -> Any:
        def answer(_: dict[str, Any]) -> Bytes:
            again = raw.asked.count(name) > 1
            return (
                (stream(FINE) if streamed else GOOD) if again else replace(failing(429), head=f"retry-after: {rest_s}")
            )

        return answer

    async with raw_world({"a": rests_once("a", 2), "b": rests_once("b", 300)}, names="ab", deadline_s=60) as (
        world,
        raw,
    ):
        response = await world.ask(stream=streamed, headers={"x-pointsman-fallback": "none"})
        assert (response.status_code, response.headers["x-pointsman-model"]) == (200, "a")
        assert raw.asked == ["a", "b", "a"], (
            "no failure at once, no phrase, and the one that asked for more is let alone"
        )


async def test_when_every_model_is_out_retry_after_is_the_soonest_return() -> None:
    async with raw_world({}, when_down=WhenDown.ERROR, deadline_s=30.0) as (world, raw):
        world.guard.at.update(dict.fromkeys("abc", Level.OPEN))
        now = world.deps.clock.now_s()
        world.guard.until.update({"a": now + 90, "b": now + 33, "c": now + 600})
        response = await world.ask()
        assert response.status_code == 503
        assert response.headers["retry-after"] in ("33", "32")
        assert response.json()["error"]["code"] == AllModelsDown.code
        assert raw.asked == []


HARD = {
    "nobody listens": None,
    "500": failing(500),
    "reset in the middle": Bytes(parts=[b'{"id": "c", '], kind="application/json", then="reset"),
    "HTML under 200": whole(b"<html>502 Bad Gateway</html>", kind="text/html"),
    "brackets without end": whole(b"[" * 200_000),
    "silence": whole(b"", then="stall"),
}


@pytest.mark.parametrize("how", HARD)
async def test_connection_errors_count_against_the_model_as_any_hard_failure(how: str) -> None:
    answer = HARD[how]
    given: dict[str, Any] = {"b": GOOD} | ({} if answer is None else {"a": answer})
    refused = ("a",) if answer is None else ()
    async with raw_world(given, refused=refused, timeouts=Timeouts(total_s=0.4)) as (world, _):
        assert (await world.ask()).headers["x-pointsman-model"] == "b"
        assert world.guard.outcomes == ["a:failed", "b:good"]


WRONG = {"error": {"message": "tools[0] is wrong", "type": "invalid_request_error", "param": "tools", "code": None}}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(failing(400, WRONG), id="400"),
        pytest.param(failing(422, WRONG), id="422"),
        pytest.param(failing(500, WRONG), id="recast as 500"),
        pytest.param(failing(200, WRONG), id="under 200"),
        pytest.param(failing(200, {"error": {"message": "tools[0] is wrong", "code": 400}}), id="a number under 200"),
    ],
)
async def test_a_clients_bad_request_never_counts_against_a_model_and_is_told(answer: Bytes, streamed: bool) -> None:
    async with raw_world({"a": answer}) as (world, raw):
        response = await world.ask(stream=streamed)
        assert 400 <= response.status_code < 500
        assert response.json()["error"]["message"] == "tools[0] is wrong"
        assert world.guard.outcomes == ["a:not_counted"]
        assert raw.asked == ["a"]


async def test_a_model_that_is_gone_is_not_asked_by_the_next_request() -> None:
    async with raw_world({"a": failing(404), "b": GOOD}) as (world, raw):
        for _ in range(3):
            assert (await world.ask()).headers["x-pointsman-model"] == "b"
        assert raw.asked == ["a", "b", "b", "b"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/v1/embeddings"])
async def test_every_endpoint_shares_one_account_of_failures(path: str) -> None:
    asked = {"model": "main", "messages": [{"role": "user", "content": "x"}], "prompt": "x", "input": "x"}
    answers: dict[str, Any] = dict.fromkeys("abc", failing(503))
    async with raw_world(answers) as (world, _):
        await world.request("POST", path, json=asked)
        assert world.guard.outcomes == ["a:failed", "b:failed", "c:failed"]
        assert [t["fault"] for t in world.log.calls[0].attempts] == ["server_error"] * 3


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
async def test_a_phrase_is_marked_and_counts_for_no_model(streamed: bool) -> None:
    async with raw_world(dict.fromkeys("abc", failing(500))) as (world, _):
        response = await world.ask(stream=streamed)
        said = streamed_text(response) if streamed else response.json()["choices"][0]["message"]["content"]
        assert said in CATALOG.languages["en"].unreachable
        assert response.headers["x-pointsman-fallback"] == "phrase"
        assert response.headers["x-pointsman-model"] == ""
        assert world.guard.outcomes == ["a:failed", "b:failed", "c:failed"]


async def test_a_peer_that_never_accepts_is_left_at_the_connect_limit() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):  # the queue is full now: who comes next gets no answer
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        async with raw_world({"b": GOOD}, timeouts=Timeouts(connect_s=0.2, total_s=5.0)) as (world, _):
            endpoint = world.deps.topology.models["a"].endpoints[0]
            object.__setattr__(endpoint, "base_url", f"http://127.0.0.1:{full.getsockname()[1]}/v1")
            async with asyncio.timeout(60):
                response = await world.ask()
            assert response.headers["x-pointsman-model"] == "b"
            assert world.log.calls[0].attempts[0]["fault"] == "timeout_connect"


async def test_the_headers_and_the_chunks_tell_who_served_not_who_failed() -> None:
    served = Bytes(
        parts=[chunk({"content": FINE}, model="real-b"), chunk({}, "stop", model="real-b"), b"data: [DONE]\n\n"]
    )
    async with raw_world({"a": failing(500), "b": served}) as (world, _):
        response = await world.ask(stream=True)
        got = events(response)
        assert response.headers["x-pointsman-model"] == got[-2]["pointsman"]["model"] == "b"
        assert {e["model"] for e in got[:-1]} == {"real-b"}
        assert streamed_text(response) == FINE
        assert world.log.calls[0].served_model == "b"

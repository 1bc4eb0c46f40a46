"""Copies of answered requests that probe a recovering model: nobody waits for them, and nothing of them is kept."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from base.faults import Fault
from breaker.levels import Level
from router.policy import RouterPolicy
from tests.support.router_world import FakePermit, Says, World, down, looped, until

RECOVERING = {"c": Level.RECOVERING}


def world(*says: Says, policy: RouterPolicy | None = None, **more: Any) -> World:
    here = World({"c": list(says)} if says else None, levels=RECOVERING, policy=policy, **more)
    here.guard.grants = FakePermit()
    return here


def permit_of(here: World) -> FakePermit:
    assert here.guard.grants is not None
    return here.guard.grants


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("says", "settled", "outcome"),
    [
        pytest.param(Says(), [True], "c:good", id="clean"),
        pytest.param(looped(), [False], "c:degenerate", id="loops"),
        pytest.param(down(), [False], "c:failed", id="down"),
        pytest.param(Says(text="", fault=Fault.EMPTY), [False], "c:good", id="empty: no repeat, and no proof"),
        pytest.param(down(Fault.RATE_LIMITED), [], "c:not_counted", id="quota: given back"),
    ],
)
async def test_an_answered_request_probes_the_recovering_model_and_settles_its_permit(
    stream: bool, says: Says, settled: list[bool], outcome: str
) -> None:
    here = world(says)
    response = await here.ask(stream=stream)
    assert response.status_code == 200
    await until(lambda: outcome in here.guard.outcomes)
    assert (permit_of(here).settled, here.asked) == (settled, ["a", "c"])
    assert [row.served_model for row in here.log.calls] == ["a"]
    assert here.log.failed == [], "nothing of a copy is stored, however bad its reply"


async def test_the_copy_is_a_whole_reply_with_the_clients_words() -> None:
    here = world()
    await here.ask(stream=True, stream_options={"include_usage": True}, temperature=0.3)
    await until(lambda: len(here.models.asked) == 2)
    call = here.models.asked[1][1]
    assert (call.stream, call.body["temperature"], "stream_options" in call.body) == (False, 0.3, False)
    assert here.models.asked[1][2].total_s <= 50.0


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 64},
        {"max_completion_tokens": 299},
        {"response_format": {"type": "json_object"}},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
    ],
    ids=lambda fields: next(iter(fields)),
)
async def test_what_proves_nothing_is_not_copied(fields: dict[str, Any]) -> None:
    here = world()
    await here.ask(**fields)
    await asyncio.sleep(0)
    assert "c" not in here.asked


@pytest.mark.parametrize(
    ("least", "limit", "copied"),
    [
        pytest.param(0, 600, True, id="needs none"),
        pytest.param(800, 600, False, id="the client left less room than it needs to reason"),
        pytest.param(800, 900, True, id="room enough"),
        pytest.param(4_000, 9_000, False, id="its thinking would outlast the permit"),
    ],
)
async def test_a_model_that_reasons_first_is_probed_only_by_requests_with_room_for_it(
    least: int, limit: int, copied: bool
) -> None:
    here = world()
    models: dict[str, Any] = here.deps.topology.models  # type: ignore[assignment]
    models["c"] = replace(models["c"], least_tokens=least)
    await here.ask(max_tokens=limit)
    for _ in range(20):
        await asyncio.sleep(0)
    assert ("c" in here.asked) is copied


async def test_nothing_is_copied_when_it_is_switched_off_or_nobody_recovers_or_no_permit_is_free() -> None:
    for here in (world(policy=RouterPolicy(shadow_probes=False)), World(), world()):
        if here.guard.at:
            here.guard.grants = None if here.deps.policy.shadow_probes else here.guard.grants
        await here.ask()
        for _ in range(20):
            await asyncio.sleep(0)
        assert here.asked == ["a"]


async def test_a_client_that_got_an_error_is_not_copied_and_a_phrase_only_route_is_probed() -> None:
    refused = Says(text="", fault=Fault.REJECTED, status=422, error={"message": "no such tool", "type": "x"})
    here = World({"a": [refused]}, levels=RECOVERING)
    here.guard.grants = FakePermit()
    assert (await here.ask()).status_code == 422
    phrase = World(levels={"a": Level.OPEN, "b": Level.OPEN, "c": Level.RECOVERING})
    phrase.guard.grants = FakePermit()
    assert (await phrase.ask()).headers["x-pointsman-fallback"] == "phrase"
    await until(lambda: phrase.asked == ["c"])
    assert here.asked == ["a"]


async def test_copies_are_capped_and_end_with_the_process() -> None:
    here = world(Says(hang=True), policy=RouterPolicy(shadow_at_once=1))
    for _ in range(3):
        await here.ask()
    await until(lambda: here.asked.count("c") == 1)
    await here.app.models.shadows.close()
    assert (here.asked.count("c"), permit_of(here).settled, here.models.closed) == (1, [], ["c"])

"""The pause before a vendor that was too busy is asked again, and who is asked instead."""

import asyncio
from dataclasses import replace

import pytest

from base.faults import Fault
from router.backoff import pause_s
from router.ladder import Tried
from router.policy import RouterPolicy
from router.topology import Model
from tests.support.router_world import Says, World, until
from upstream.attempt import Attempt
from upstream.call import Endpoint

DOOR = (Endpoint(base_url="http://x/v1", upstream_model="x"),)
MODELS = {
    name: Model(name=name, vendor=vendor, endpoints=DOOR)
    for name, vendor in {"a": "v", "b": "v", "c": "w", "d": ""}.items()
}
POLICY = RouterPolicy(backoff_cap_s=2.0, backoff_jitter_s=0.5)


def tried(model: str, status: int | None) -> Tried:
    return Tried(model=model, endpoint=0, attempt=Attempt(started_at=0.0, elapsed_s=0.1, status=status))


@pytest.mark.parametrize(
    ("before", "model", "chance", "left_s", "pause"),
    [
        pytest.param([("a", 503)], "a", 0.0, 60, 1.1, id="once: 2^0 and the least jitter"),
        pytest.param([("a", 429)], "b", 1.0, 60, 1.5, id="the same vendor under another name; the most jitter"),
        pytest.param([("a", 503), ("a", 529)], "b", 0.0, 60, 2.1, id="twice: 2^1"),
        pytest.param([("a", 503), ("a", 503), ("b", 503)], "b", 0.0, 60, 2.1, id="capped"),
        pytest.param([("a", 503)], "c", 1.0, 60, 0.0, id="another vendor has nothing to recover from"),
        pytest.param([("a", 503), ("c", 500)], "b", 1.0, 60, 0.0, id="another vendor was asked in between"),
        pytest.param([("a", 500)], "a", 1.0, 60, 0.0, id="a crash is not made better by waiting"),
        pytest.param([("a", None)], "a", 1.0, 60, 0.0, id="a time-out has waited already"),
        pytest.param([("d", 503)], "d", 0.0, 60, 1.1, id="a model without a vendor is its own"),
        pytest.param([("d", 503)], "a", 1.0, 60, 0.0, id="and nobody else's"),
        pytest.param([("a", 503)], "a", 1.0, 2.0, 1.0, id="at most half of the time left"),
    ],
)
def test_the_pause(
    before: list[tuple[str, int | None]], model: str, chance: float, left_s: float, pause: float
) -> None:
    said = [tried(name, status) for name, status in before]
    assert pause_s(said, MODELS[model], MODELS, POLICY, chance=chance, left_s=left_s) == pytest.approx(pause)


async def test_a_busy_vendors_spare_is_asked_after_the_pause_and_not_before() -> None:
    busy = Says(text="", fault=Fault.SERVER_ERROR, status=503)
    world = World({"a": [busy]})
    asking = asyncio.create_task(world.ask())
    await until(lambda: world.clock.sleeping)
    assert world.asked == ["a"]
    await world.clock.advance(1.0)
    assert world.asked == ["a"]
    await world.clock.advance(0.6)
    assert (await asking).headers["x-pointsman-fallback"] == "spare"
    assert world.asked == ["a", "a2"]


@pytest.mark.parametrize("status", [500, 502, 504])
async def test_a_spare_after_any_other_failure_is_asked_at_once(status: int) -> None:
    world = World({"a": [Says(text="", fault=Fault.SERVER_ERROR, status=status)]})
    assert (await world.ask()).headers["x-pointsman-fallback"] == "spare"


async def test_who_is_told_to_come_back_later_asks_another_vendor() -> None:
    limited = Says(text="", fault=Fault.RATE_LIMITED, status=429)
    world = World({"a": [limited], "b": [limited]})
    models = dict(world.deps.topology.models)
    models["b"] = replace(models["b"], vendor=models["a"].vendor)
    world.deps.topology = replace(world.deps.topology, models=models)
    response = await world.ask()
    assert world.asked == ["a", "c"], "b is next by priority, and of the vendor that has too much to do"
    assert response.headers["x-pointsman-model"] == "c"

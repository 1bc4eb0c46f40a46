"""What operators switch, as a request feels it; prices, vendors' own statuses and samples, as they are counted."""

from dataclasses import replace

import pytest

from base.faults import Fault
from base.switch import FLEET, Switch, SwitchMode
from router.price import Price
from tests.support.router_world import Says, World, down, events, looped, streamed_text

LOOP = "I like trains. " * 60


def switched(world: World, mode: SwitchMode, route: str = "main", minutes: float = 10.0) -> World:
    until = world.clock.now_s() + minutes * 60
    world.deps.switches.replace([Switch(route=route, mode=mode, until=until, actor="op", reason="x", set_at=0.0)])
    return world


async def test_phrase_only_asks_no_model_and_is_over_by_itself() -> None:
    world = switched(World(), SwitchMode.PHRASE_ONLY, FLEET, minutes=1)
    answer = await world.ask()
    assert (answer.status_code, answer.headers["x-pointsman-fallback"]) == (200, "phrase")
    assert world.asked == []
    world.clock.tick(61)
    assert (await world.ask()).headers["x-pointsman-fallback"] == "none"


@pytest.mark.parametrize("stream", [False, True])
async def test_phrase_only_where_no_phrase_may_be_said_tells_that_an_operator_did_it_and_until_when(
    stream: bool,
) -> None:
    world = switched(World(phrases=False), SwitchMode.PHRASE_ONLY, minutes=2)
    answer = await world.ask(stream=stream)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "all_models_unavailable")
    assert "an operator has switched this route to prepared phrases (phrase_only)" in error["message"]
    assert answer.headers["retry-after"] == "120"
    assert world.asked == []


@pytest.mark.parametrize("mode", [SwitchMode.OBSERVE, SwitchMode.BYPASS])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_loop_passes_and_only_observe_writes_it_down(mode: SwitchMode, stream: bool) -> None:
    world = switched(World({"a": [Says(text=LOOP)]}), mode)
    answer = await world.ask(stream=stream)
    assert (streamed_text(answer) if stream else answer.json()["choices"][0]["message"]["content"]) == LOOP
    assert [call.guarded for _, call, _ in world.models.asked] == [False]
    assert world.guard.outcomes == ["a:good"]  # not the breaker's business either
    verdict = "degenerate" if mode is SwitchMode.OBSERVE else "clean"
    assert world.log.calls[0].verdict == verdict
    assert world.deps.metrics.observed.labels("a")._value.get() == float(mode is SwitchMode.OBSERVE)
    if stream:
        assert events(answer)[-2]["pointsman"]["verdict"] == verdict


async def test_another_routes_switch_changes_nothing() -> None:
    world = switched(World(), SwitchMode.PHRASE_ONLY, "other")
    assert (await world.ask()).headers["x-pointsman-fallback"] == "none"


async def test_a_vendors_own_status_goes_to_the_next_model_and_counts() -> None:
    world = World({"a": [replace(down(Fault.REJECTED), status=424)]})
    topology = world.deps.topology
    ill = replace(topology.models["a"], endpoints=topology.models["a"].endpoints[:1], retry_statuses=frozenset({424}))
    world.deps.topology = replace(topology, models={**topology.models, "a": ill})
    answer = await world.ask()
    assert (answer.status_code, answer.headers["x-pointsman-model"]) == (200, "b")
    assert world.guard.outcomes == ["a:failed", "b:good"]
    other = World({"a": [replace(down(Fault.REJECTED), status=424)]})
    assert (await other.ask()).status_code == 424


async def test_tokens_and_their_cost_are_counted_by_model() -> None:
    world = World()
    topology = world.deps.topology
    price = Price(input_per_million=2.0, output_per_million=8.0, currency="CNY")
    world.deps.topology = replace(topology, models={**topology.models, "a": replace(topology.models["a"], price=price)})
    await world.ask()
    metrics = world.deps.metrics
    assert metrics.tokens.labels("a", "input")._value.get() == 10
    assert metrics.tokens.labels("a", "output")._value.get() == 5
    assert metrics.cost.labels("a", "CNY")._value.get() == pytest.approx((10 * 2 + 5 * 8) / 1e6)


async def test_a_bad_attempt_leaves_its_request_id_as_an_exemplar() -> None:
    world = World({"a": [looped("x")], "a2": [looped("x")]})
    answer = await world.ask()
    plain = await world.request("GET", "/metrics")
    assert "# {" not in plain.text
    told = await world.request("GET", "/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert told.headers["content-type"].startswith("application/openmetrics-text")
    assert f'request_id="{answer.headers["x-request-id"]}"' in told.text
    assert told.text.endswith("# EOF\n")


async def test_what_we_add_to_a_request_is_counted_apart_from_its_attempts() -> None:
    world = World()
    await world.ask()
    samples = {s.name: s.value for f in world.deps.metrics.overhead.collect() for s in f.samples}
    assert samples["pointsman_overhead_seconds_count"] == 1

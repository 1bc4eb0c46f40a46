"""The face of the router: paths, limits and clear answers to wrong requests."""

import asyncio
from typing import Any

import pytest

from breaker.levels import Level
from router.auth import Caller, Keys, digest
from router.policy import RouterPolicy
from tests.support.router_world import Says, World, until


async def error(world: World, method: str, path: str, **more: Any) -> tuple[int, str]:
    response = await world.request(method, path, **more)
    body = response.json()["error"]
    assert set(body) >= {"message", "type", "param", "code"}
    return response.status_code, body["code"]


async def test_models_are_the_routes_a_key_may_use() -> None:
    keys = Keys({digest("k"): Caller(app="car", routes=frozenset({"other"}))})
    open_world, closed_world = World(), World(keys=keys)
    assert [m["id"] for m in (await open_world.request("GET", "/v1/models")).json()["data"]] == ["main"]
    listed = await closed_world.request("GET", "/v1/models", headers={"authorization": "Bearer k"})
    assert listed.json()["data"] == []
    assert await error(closed_world, "GET", "/v1/models") == (401, "invalid_api_key")


async def test_health_readiness_and_metrics_answer() -> None:
    world = World(levels={"a": Level.OPEN})
    await world.ask()
    assert (await world.request("GET", "/healthz")).json() == {"status": "ok"}
    assert (await world.request("GET", "/readyz")).status_code == 200
    world.deps.ready = lambda: False
    assert (await world.request("GET", "/readyz")).status_code == 503
    text = (await world.request("GET", "/metrics")).text
    assert 'pointsman_requests_total{fallback="none",route="main",status="200"} 1.0' in text
    assert 'pointsman_model_severity{model="a"} 3.0' in text
    assert 'pointsman_route_phrase_only{route="main"} 0.0' in text


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages"])
async def test_what_is_not_offered_yet_says_so(path: str) -> None:
    assert await error(World(), "POST", path, json={}) == (501, "not_implemented")


async def test_unknown_paths_and_methods_answer_in_openais_shape() -> None:
    assert await error(World(), "GET", "/v2/nothing") == (404, "not_found")
    assert await error(World(), "GET", "/v1/chat/completions") == (405, "method_not_allowed")


async def test_an_unknown_route_is_a_404_that_names_it() -> None:
    response = await World().ask(model="nobody")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")
    assert "nobody" in response.json()["error"]["message"]


async def test_a_broken_body_is_a_400() -> None:
    for raw in (b"", b"{", b"\xff", b"[" * 10_000):
        assert (await World().post(raw)).status_code == 400


async def test_a_body_over_the_limit_is_a_413_said_or_unsaid() -> None:
    world = World(policy=RouterPolicy(max_body_bytes=1_000))
    assert (await world.post(b" " * 1_001)).status_code == 413

    async def parts() -> Any:
        for _ in range(3):
            yield b" " * 500

    assert (await world.request("POST", "/v1/chat/completions", content=parts())).status_code == 413


async def test_requests_over_the_concurrency_limit_get_a_429_and_the_place_is_given_back() -> None:
    world = World({"a": [Says(hang=True), Says()]}, policy=RouterPolicy(max_in_flight=1))
    first = asyncio.create_task(world.ask())
    await until(lambda: world.asked)
    response = await world.ask()
    assert (response.status_code, response.headers["retry-after"]) == (429, "1")
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert (await world.ask()).status_code == 200


async def test_keys_are_asked_for_and_bound_to_routes() -> None:
    keys = Keys({digest("k"): Caller(app="car", routes=frozenset({"other"}))})
    assert (await World(keys=keys).ask()).status_code == 401
    assert (await World(keys=keys).ask(headers={"authorization": "Bearer k"})).status_code == 403


async def test_an_unknown_scene_is_refused_with_the_known_ones() -> None:
    response = await World().ask(headers={"x-pointsman-scene": "kitchen"})
    assert response.status_code == 400
    assert "cockpit" in response.json()["error"]["message"]


async def test_a_fault_of_our_own_is_a_500_without_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    world = World()

    def broken() -> Any:
        raise RuntimeError("secret inside")

    world.guard.levels = broken  # type: ignore[method-assign]
    response = await world.ask()
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal_error"
    assert "secret" not in response.text

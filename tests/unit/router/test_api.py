"""The face of the router: paths, limits and clear answers to wrong requests."""

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import httpx
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


async def test_no_sdk_asks_again_for_what_is_not_offered() -> None:
    answer = await World().request("POST", "/v1/responses", json={})
    assert answer.headers["x-should-retry"] == "false"


async def test_unknown_paths_and_methods_answer_in_openais_shape() -> None:
    assert await error(World(), "GET", "/v2/nothing") == (404, "not_found")
    assert await error(World(), "GET", "/v1/chat/completions") == (405, "method_not_allowed")
    assert await error(World(), "POST", "/v1/models") == (405, "method_not_allowed")


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


@pytest.mark.parametrize("where", ["admitting", "serving", "a route of FastAPI"])
async def test_whatever_goes_wrong_inside_answers_in_openais_shape(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("secret inside")

    if where == "serving":
        monkeypatch.setattr(world.models, "complete", broken)
    else:
        monkeypatch.setattr(world.deps.keys, "caller", broken)
    transport = httpx.ASGITransport(app=world.app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://router") as client:
        if where == "a route of FastAPI":
            response = await client.get("/v1/models")
        else:
            body = {"model": "main", "messages": [{"role": "user", "content": "x"}]}
            response = await client.post("/v1/chat/completions", json=body)
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal_error"
    assert "secret" not in response.text


async def told_at_a_forced_stop(world: World, *, stream: bool) -> list[MutableMapping[str, Any]]:
    """What was sent to a client whose request the server cancelled."""
    sent: list[MutableMapping[str, Any]] = []
    body = {"model": "main", "messages": [{"role": "user", "content": "x"}], "stream": stream}
    waiting = [{"type": "http.request", "body": json.dumps(body).encode()}]

    async def receive() -> MutableMapping[str, Any]:
        if waiting:
            return waiting.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": []}
    serving = asyncio.create_task(world.app(scope, receive, send))
    await until(lambda: len(sent) > 2 if stream else world.asked)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    return sent


async def test_a_forced_shutdown_is_told_in_openais_shape() -> None:
    world = World({"a": [Says(hang=True)]})
    start, end = await told_at_a_forced_stop(world, stream=False)
    assert start["status"] == 503
    assert (b"retry-after", b"1") in start["headers"]
    assert json.loads(end["body"])["error"]["code"] == "shutting_down"
    assert world.guard.outcomes == ["a:not_counted"]


async def test_a_forced_shutdown_ends_a_stream_with_an_error_and_without_done() -> None:
    sent = await told_at_a_forced_stop(World({"a": [Says(hang=True)]}), stream=True)
    body = b"".join(m.get("body", b"") for m in sent)
    assert b'"code":"shutting_down"' in body
    assert b'"pointsman":{"request_id":' in body
    assert b"[DONE]" not in body
    assert sent[-1]["more_body"] is False


async def test_a_request_whose_row_cannot_be_written_is_answered_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def broken(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(world.deps.metrics, "request", broken)
    assert (await world.ask()).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/responses", 501),
        ("GET", "/v1/nothing", 404),
        ("POST", "/v1/feedback", 501),
        ("GET", "/v1/feedback", 405),
    ],
)
async def test_every_refusal_carries_an_id_to_quote(method: str, path: str, status: int) -> None:
    answer = await World().request(method, path, json={} if method == "POST" else None)
    assert (answer.status_code, answer.headers["x-request-id"][:3]) == (status, "pm-")


async def test_the_sdks_models_retrieve_finds_a_route_and_says_what_is_wrong_else() -> None:
    keys = Keys({digest("k"): Caller(app="car", routes=frozenset({"other"}))})
    found = await World().request("GET", "/v1/models/main")
    assert (found.status_code, found.json()["id"], found.json()["object"]) == (200, "main", "model")
    assert await error(World(), "GET", "/v1/models/nobody") == (404, "model_not_found")
    with_key = {"headers": {"authorization": "Bearer k"}}
    assert await error(World(keys=keys), "GET", "/v1/models/main", **with_key) == (403, "route_forbidden")
    assert await error(World(keys=keys), "GET", "/v1/models/main") == (401, "invalid_api_key")


async def test_a_slash_after_the_list_of_models_is_the_list_and_no_route_without_a_name() -> None:
    keys = Keys({digest("k"): Caller(app="car", routes=None)})
    assert [m["id"] for m in (await World().request("GET", "/v1/models/")).json()["data"]] == ["main"]
    assert await error(World(keys=keys), "GET", "/v1/models/") == (401, "invalid_api_key")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/v1/models", "/metrics", "/openapi.json"])
async def test_a_load_balancer_that_asks_by_head_is_answered_without_a_body(path: str) -> None:
    answer = await World().request("HEAD", path)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("OPTIONS", "/v1/chat/completions", "POST"), ("DELETE", "/v1/models", "GET"), ("GET", "/v1/feedback", "POST")],
)
async def test_a_wrong_method_is_told_the_right_one(method: str, path: str, allowed: str) -> None:
    answer = await World().request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert f"use {allowed}" in answer.json()["error"]["message"]


async def test_a_slash_too_many_is_a_clear_404_and_no_redirect_to_an_address_of_ours() -> None:
    for path in ("/healthz/", "/v1/feedback/"):
        answer = await World().request("GET", path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert "ends in a slash" in answer.json()["error"]["message"]


@pytest.mark.parametrize(("path", "status"), [("/v1/models", 200), ("/v2/nothing", 404), ("/healthz", 200)])
async def test_every_answer_carries_a_request_id_the_clients_own_where_it_is_good(path: str, status: int) -> None:
    world = World()
    own = await world.request("GET", path, headers={"x-request-id": "trace-12345678"})
    assert (own.status_code, own.headers.get_list("x-request-id")) == (status, ["trace-12345678"])
    for bad in ("pm-0123456789", "short", 'a"b"c"d"e'):
        answer = await world.request("GET", path, headers={"x-request-id": bad})
        assert answer.headers["x-request-id"].startswith("pm-") and answer.headers["x-request-id"] != bad

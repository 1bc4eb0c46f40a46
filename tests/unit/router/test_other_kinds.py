"""Completions and embeddings climb the same ladder as chats."""

import json
from typing import Any

import httpx
import pytest

from base.faults import Fault
from tests.support.router_world import CATALOG, Says, World, down, looped


async def post(world: World, path: str, **fields: Any) -> httpx.Response:
    return await world.request("POST", path, content=json.dumps({"model": "main", **fields}).encode())


async def test_embeddings_fail_over_and_never_get_a_phrase() -> None:
    world = World({"a": [down()]})
    assert (await post(world, "/v1/embeddings", input="hello")).headers["x-pointsman-fallback"] == "spare"
    assert world.models.asked[0][1].path == "/embeddings"
    assert world.models.asked[0][1].body == {"model": "main", "input": "hello"}
    none_left = World({n: [down()] for n in ("a", "a2", "b", "c")})
    assert (await post(none_left, "/v1/embeddings", input=["hello"])).status_code == 503


async def test_a_completion_answers_with_a_phrase_in_its_own_shape() -> None:
    world = World({n: [looped()] for n in ("a", "a2", "b", "c")})
    body = (await post(world, "/v1/completions", prompt="hello")).json()
    assert body["object"] == "text_completion"
    assert body["choices"][0]["text"] in CATALOG.languages["en"].scenes["chat"]


async def test_a_streamed_completion_that_broke_goes_on_from_its_prompt_and_what_was_sent() -> None:
    broken = Says(pieces=["The train "], fault=Fault.BROKEN_STREAM)
    world = World({"a": [broken], "a2": [Says(pieces=["leaves."])]})
    await post(world, "/v1/completions", prompt="Say: ", stream=True)
    assert world.models.asked[1][1].body["prompt"] == "Say: The train "


@pytest.mark.parametrize(
    ("path", "fields", "param"),
    [
        ("/v1/completions", {}, "prompt"),
        ("/v1/completions", {"prompt": ["a", "b"]}, "prompt"),
        ("/v1/embeddings", {}, "input"),
        ("/v1/embeddings", {"input": []}, "input"),
        ("/v1/embeddings", {"input": "a", "stream": True}, "stream"),
    ],
)
async def test_a_bad_field_is_named(path: str, fields: dict[str, Any], param: str) -> None:
    response = await post(World(), path, **fields)
    assert (response.status_code, response.json()["error"]["param"]) == (400, param)

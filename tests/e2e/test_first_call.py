"""From a client's request to a model's reply and back, over real sockets, as the official client sees it."""

import json
from collections.abc import AsyncIterator

import httpx
import openai
import pytest
import pytest_asyncio

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.service import Running, running, settings_file


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upstream() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream() as up:
        yield up


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(upstream: ScriptedUpstream, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    async with running(settings_file(tmp_path_factory.mktemp("service"), upstream.base_url)) as up:
        yield up


@pytest.fixture(autouse=True)
def calm(upstream: ScriptedUpstream) -> None:
    upstream.schedule.clear()


pytestmark = pytest.mark.asyncio(loop_scope="module")


def chat(text: str = "hello", **more: object) -> dict[str, object]:
    return {"model": "chat", "messages": [{"role": "user", "content": text}], **more}


async def post(service: Running, body: object) -> httpx.Response:
    async with httpx.AsyncClient(timeout=30) as client:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await client.post(f"{service.url}/v1/chat/completions", content=content)


async def test_a_healthy_reply_comes_through_and_the_headers_say_so(service: Running) -> None:
    answer = await post(service, chat())
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"]
    assert answer.headers["x-pointsman-model"] == "a"
    assert answer.headers["x-pointsman-fallback"] == "none"
    assert answer.headers["x-pointsman-verdict"] == "clean"


async def test_a_stuck_reply_is_answered_by_another_model(service: Running, upstream: ScriptedUpstream) -> None:
    upstream.set("a", "stuck")
    answer = await post(service, chat())
    assert answer.headers["x-pointsman-model"] == "b"
    assert answer.headers["x-pointsman-fallback"] == "model"
    assert answer.headers["x-pointsman-attempts"] == "2"
    assert "you! you! you!" not in answer.text


async def test_when_every_model_loops_a_phrase_answers(service: Running) -> None:
    answer = await post(service, chat("[[stuck]] hello"))
    assert answer.status_code == 200
    assert answer.headers["x-pointsman-fallback"] == "phrase"


async def test_the_official_client_reads_whole_replies_and_streams(service: Running) -> None:
    async with openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="none", max_retries=0) as client:
        whole = await client.chat.completions.create(model="chat", messages=[{"role": "user", "content": "hello"}])
        assert whole.choices[0].message.content
        stream = await client.chat.completions.create(
            model="chat", messages=[{"role": "user", "content": "hello"}], stream=True
        )
        pieces = [c.choices[0] async for c in stream if c.choices]
        assert "".join(p.delta.content or "" for p in pieces)
        assert pieces[-1].finish_reason == "stop"
        listed = await client.models.list()
        assert {m.id for m in listed.data} == {"chat", "lone"}


async def test_a_looping_stream_is_cut_politely(service: Running, upstream: ScriptedUpstream) -> None:
    upstream.set("a", "sentence_loop")
    async with openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="none", max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="lone", messages=[{"role": "user", "content": "tell me of the city"}], stream=True
        )
        pieces = [c.choices[0] async for c in stream if c.choices]
    said = "".join(p.delta.content or "" for p in pieces)
    assert said.count("The city has a long history") <= 4
    assert pieces[-1].finish_reason is not None


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        pytest.param(b"hello", 400, "", id="not JSON"),
        pytest.param(b"[1]", 400, "", id="not an object"),
        pytest.param({"model": "nope", "messages": [{"role": "user", "content": "x"}]}, 404, "nope", id="unknown route"),
        pytest.param(chat(n=2), 400, "n", id="two choices"),
        pytest.param(chat("x" * 20_000_000), 413, "bytes", id="20 MB"),
        pytest.param({"model": "chat"}, 400, "messages", id="no messages"),
    ],
)  # fmt: skip
async def test_a_bad_request_gets_a_clear_answer_in_openai_shape(
    service: Running, body: object, status: int, told: str
) -> None:
    answer = await post(service, body)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert told in error["message"]
    assert {"message", "type", "code"} <= error.keys()


async def test_an_unknown_field_is_handed_on_to_the_model(service: Running, upstream: ScriptedUpstream) -> None:
    answer = await post(service, chat(shoe_size=44))
    assert answer.status_code == 200
    assert upstream.requests[-1]["shoe_size"] == 44


async def test_operators_need_the_token_and_see_where_models_stand(service: Running) -> None:
    async with httpx.AsyncClient(timeout=10) as client:
        assert (await client.get(f"{service.urls[1]}/admin/models")).status_code == 401
        mine = {"authorization": f"Bearer {service.token}"}
        answer = await client.get(f"{service.urls[1]}/admin/models", headers=mine)
        assert {m["model"] for m in answer.json()["models"]} == {"a", "b"}
        act = {"mode": "forced_open", "reason": "maintenance tonight", "actor": "ops", "minutes": 5}
        forced = await client.post(f"{service.urls[1]}/admin/models/a/force", headers=mine, json=act)
        assert forced.status_code == 200, forced.text
        assert forced.json()["effective"] == "open"
    answer = await post(service, chat())
    assert answer.headers["x-pointsman-model"] == "b"
    async with httpx.AsyncClient(timeout=10) as client:
        act = {"mode": "auto", "reason": "done"}
        await client.post(f"{service.urls[1]}/admin/models/a/force", headers=mine, json=act)


async def test_health_and_metrics_are_served(service: Running) -> None:
    async with httpx.AsyncClient(timeout=10) as client:
        assert (await client.get(f"{service.url}/healthz")).status_code == 200
        assert (await client.get(f"{service.url}/readyz")).status_code == 200
        assert "pointsman_requests_total" in (await client.get(f"{service.url}/metrics")).text

"""The clients that apps really use, each in a process of its own, against the real service over a scripted upstream.

Which clients and which parts: docs/clients.md. `make test` brings the clients (an extra for pip, a lock file for npm); one
that cannot be had here is named as NOT RUN.
"""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.service import Running, running, settings_file

HERE = Path(__file__).parents[2]
FOLDER = HERE / "tests" / "clients"
PYTHON = HERE / ".venv-clients" / "bin" / "python"
CLIENTS = ("openai-python", "openai-js", "langchain-openai", "litellm", "curl")
PARTS = ("chat", "stream", "tools", "structured", "embeddings", "completions", "errors", "cancel")
SLOWEST_S = 240.0
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]


def command(client: str) -> list[str]:
    """How the client is started; skips the test where it is not there."""
    match client:
        case "openai-python":
            return [sys.executable, str(FOLDER / "openai_client.py")]
        case "openai-js":
            if shutil.which("node") is None or not (FOLDER / "node_modules" / "openai").is_dir():
                pytest.skip("NOT RUN: openai for JavaScript: node or npm is not there, or npm could not install it")
            return ["node", str(FOLDER / "openai_client.mjs")]
        case "curl":
            if shutil.which("curl") is None:
                pytest.skip("NOT RUN: curl: it is not installed")
            return [sys.executable, str(FOLDER / "curl_client.py")]
    if not PYTHON.exists():
        pytest.skip(f"NOT RUN: {client}: pip could not install the extra `clients`")
    return [str(PYTHON), str(FOLDER / f"{client.partition('-')[0]}_client.py")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upstream() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream() as up:
        yield up


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(upstream: ScriptedUpstream, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    async with running(settings_file(tmp_path_factory.mktemp("clients"), upstream.base_url)) as up:
        yield up


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CLIENTS)
async def story(request: pytest.FixtureRequest, service: Running, upstream: ScriptedUpstream) -> dict[str, Any]:
    """What the client tells of each part; `alive`: the upstream was let go of the stream while the client still lived."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command(request.param), f"{service.url}/v1", stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert process.stdout is not None and process.stdin is not None and process.stderr is not None
    told: dict[str, Any] = {}
    async with asyncio.timeout(SLOWEST_S):
        while "cancel" not in told and (line := await process.stdout.readline()):
            part = json.loads(line)
            told[part.pop("part")] = part
        while "cancel" in told and upstream.open_streams:  # noqa: ASYNC110 - another process is waited for
            await asyncio.sleep(0.01)
        alive = process.returncode is None
        process.stdin.close()
        errors = (await process.stderr.read()).decode()
        await process.wait()
    assert set(told) == set(PARTS), errors[-2_000:]
    told["cancel"]["alive"] = alive
    return told


def got(story: dict[str, Any], part: str) -> Any:
    assert "error" not in story[part], story[part]["error"]
    return story[part]["got"]


async def test_a_chat_is_answered(story: dict[str, Any]) -> None:
    assert len(got(story, "chat")) > 20


async def test_a_stream_comes_whole_with_its_end_and_what_it_cost(story: dict[str, Any]) -> None:
    streamed = got(story, "stream")
    assert len(streamed["text"]) > 20 and streamed["finish"] == "stop" and streamed["tokens"] > 12


async def test_tools_are_called_whole_and_streamed(story: dict[str, Any]) -> None:
    call = got(story, "tools")
    arguments = call["arguments"]
    assert call["name"] == call["streamed"] == "weather"
    assert (json.loads(arguments) if isinstance(arguments, str) else arguments) == {"city": "Oslo"}


async def test_json_that_the_model_put_in_a_fence_arrives_as_json(story: dict[str, Any]) -> None:
    said = got(story, "structured")
    assert (json.loads(said) if isinstance(said, str) else said) == {"city": "Oslo", "degrees": 4}


async def test_texts_are_embedded(story: dict[str, Any]) -> None:
    assert got(story, "embeddings") == 8


async def test_a_prompt_is_completed(story: dict[str, Any]) -> None:
    assert len(got(story, "completions")) > 20


async def test_mistakes_arrive_as_the_clients_own_errors(story: dict[str, Any]) -> None:
    unknown, bad = got(story, "errors")
    assert (unknown[1], bad[1]) == (404, 400)
    assert unknown[0] in {"NotFoundError", "OpenAIModelNotFoundError", "model_not_found"}
    assert bad[0] in {"BadRequestError", "OpenAIInvalidRequestError", "invalid_request"}


async def test_leaving_a_stream_lets_the_upstream_go(story: dict[str, Any]) -> None:
    assert got(story, "cancel") and story["cancel"]["alive"]

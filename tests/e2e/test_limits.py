"""Keys and limits over two real routers: what one let in the other knows, a revoked key is out, SDKs understand a 429."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import openai
import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from pointsman.demo.scripted import ScriptedUpstream
from router.spend import EVERY_S
from tests.support.service import Running, running, settings_file
from tests.support.valkey import start_valkey

REVOKED_WITHIN_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Two:
    """Two routers on one Redis and one database."""

    routers: tuple[Running, Running]
    file: Path
    client: httpx.AsyncClient

    async def keys(self, *arguments: str) -> str:
        """What `pointsman keys …` prints; in a thread, since it runs a loop of its own."""
        line = ["keys", *arguments, "--config", str(self.file)]
        made = await asyncio.to_thread(CliRunner().invoke, app, line, env={"COLUMNS": "160"})
        assert made.exit_code == 0, made.output
        return made.output.strip()

    async def ask(self, router: Running, key: str, **fields: object) -> httpx.Response:
        body = {"model": "chat", "messages": [{"role": "user", "content": "hello"}], **fields}
        headers = {"authorization": f"Bearer {key}"}
        return await self.client.post(f"{router.url}/v1/chat/completions", json=body, headers=headers)

    async def until(self, router: Running, key: str, status: int, within_s: float) -> None:
        """Wait for the routers to notice a key that was made or revoked."""
        end_s = asyncio.get_running_loop().time() + within_s
        while True:
            headers = {"authorization": f"Bearer {key}"}
            if (await self.client.get(f"{router.url}/v1/models", headers=headers)).status_code == status:
                return
            assert asyncio.get_running_loop().time() < end_s, f"no {status} in time"
            await asyncio.sleep(0.05)


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Two]:
    async with AsyncExitStack() as stack:
        valkey = stack.enter_context(start_valkey())
        upstream = await stack.enter_async_context(ScriptedUpstream(delay_s=0.05))
        file = settings_file(tmp_path, upstream.base_url, redis_url=valkey.url, require_keys=True)
        up = await asyncio.gather(*(stack.enter_async_context(running(file, "router")) for _ in range(2)))
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
        yield Two(routers=(up[0], up[1]), file=file, client=client)


async def test_two_routers_share_a_limit_and_a_revoked_key_is_out_on_both_within_two_seconds(two: Two) -> None:
    first, second = two.routers
    key = await two.keys("create", "car", "--per-minute", "10")
    for router in two.routers:
        await two.until(router, key, 200, 10)
    answers = [await two.ask(first, key) for _ in range(10)]
    assert {answer.status_code for answer in answers} == {200}
    left = [int(answer.headers["x-ratelimit-remaining-requests"]) for answer in answers]
    assert left[0] == 9
    assert left[-1] < 5
    await asyncio.sleep(3 * EVERY_S)
    # On a slow machine a request or two have flowed back meanwhile; a router of its own limit would let ten in.
    tries = [await two.ask(second, key) for _ in range(left[-1] + 4)]
    refused = next(answer for answer in tries if answer.status_code == 429)
    assert refused.json()["error"]["code"] == "rate_limit_exceeded"
    assert refused.headers["x-ratelimit-limit-requests"] == "10"
    assert 0 < int(refused.headers["retry-after-ms"]) <= 1_000 * int(refused.headers["retry-after"]) <= 6_000

    sdk = openai.AsyncOpenAI(base_url=f"{second.url}/v1", api_key=key, max_retries=0)
    with pytest.raises(openai.RateLimitError) as caught:
        await sdk.chat.completions.create(model="chat", messages=[{"role": "user", "content": "hello"}])
    assert caught.value.code == "rate_limit_exceeded"
    await sdk.close()

    row = next(line for line in (await two.keys("list")).splitlines() if "car" in line)
    assert "10 requests/min" in row
    await two.keys("revoke", row.split()[1])
    await asyncio.gather(*(two.until(router, key, 401, REVOKED_WITHIN_S) for router in two.routers))


async def test_token_and_concurrency_limits_hold_for_streams_too(two: Two) -> None:
    first, _ = two.routers
    key = await two.keys("create", "car", "--tokens-per-minute", "500", "--concurrent", "1")
    await two.until(first, key, 200, 10)
    body = {"model": "chat", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    headers = {"authorization": f"Bearer {key}"}
    url = f"{first.url}/v1/chat/completions"
    async with two.client.stream("POST", url, json=body, headers=headers) as answer:
        assert answer.headers["x-ratelimit-limit-tokens"] == "500"
        lines = answer.aiter_lines()
        await anext(lines)
        busy = await two.ask(first, key)
        assert (busy.status_code, busy.json()["error"]["code"]) == (429, "too_many_requests")
        async for _ in lines:
            pass
    large = [await two.ask(first, key, messages=[{"role": "user", "content": "x" * 8_000}]) for _ in range(2)]
    # The first may be larger than the bucket, the second has to wait for its debt.
    assert large[-1].status_code == 429
    assert "tokens a minute" in large[-1].json()["error"]["message"]

"""A model that answers 200 with nothing, always: taken off by real processes, its users served by the other, and brought
back by probes once it is well. The lines are the defaults; only spans are shortened and time runs twenty times as fast."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from base.cancels import end
from pointsman.demo.scripted import ScriptedUpstream
from tests.support.service import Running, running, settings_file
from tests.support.valkey import start_valkey

SCALE = 20
TOKEN = "pma-test"
WAITS = {"connect_s": 200, "first_text_s": 1_200, "idle_s": 1_200, "total_s": 2_200}
"""The upstream answers in real time, however busy this machine is: its time-outs are not compressed."""
SPANS = {"rolling_window_min": 1, "rolling_evaluations": 2, "open_window_min": 2, "cooldown_s": 30.0}
ROUTE = {"candidates": [{"model": "a"}, {"model": "b", "priority": 1}], "timeouts": WAITS, "deadline_s": 2_400}


class Users:
    """Ask all the while; what each of them got."""

    def __init__(self, router: Running) -> None:
        self._router = router
        self.served: list[tuple[int, str, bool]] = []

    async def ask(self, client: httpx.AsyncClient, stop: asyncio.Event) -> None:
        streamed = False
        while not stop.is_set():
            streamed = not streamed
            body = {"model": "chat", "stream": streamed, "messages": [{"role": "user", "content": "hello"}]}
            answer = await client.post(f"{self._router.url}/v1/chat/completions", json=body)
            told = answer.text if streamed else answer.json()["choices"][0]["message"]["content"]
            said = '"content":"' in told.replace(" ", "") if streamed else bool(told.strip())
            self.served.append((answer.status_code, answer.headers.get("x-pointsman-model", ""), said))
            await asyncio.sleep(0.02)


async def until(holds: Callable[[], Awaitable[Any]]) -> Any:
    """The first true answer."""
    end_s = asyncio.get_running_loop().time() + 120
    while not (found := await holds()):
        assert asyncio.get_running_loop().time() < end_s, "not seen in time"
        await asyncio.sleep(0.2)
    return found


@pytest.mark.timeout(400)
async def test_a_model_that_always_answers_nothing_is_taken_off_and_comes_back_by_probes(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        valkey = stack.enter_context(start_valkey())
        upstream = await stack.enter_async_context(ScriptedUpstream())
        more = {"time_scale": SCALE, "breaker": SPANS, "routes": {"chat": ROUTE}}
        file = settings_file(tmp_path, upstream.base_url, redis_url=valkey.url, **more)
        env = {"POINTSMAN_ADMIN_TOKEN": TOKEN}
        router = await stack.enter_async_context(running(file, "router", env))
        monitor = await stack.enter_async_context(running(file, "monitor", env))
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=60))

        async def moves() -> list[tuple[str, str, list[str]]]:
            headers = {"authorization": f"Bearer {TOKEN}"}
            told = await client.get(f"{monitor.url}/admin/transitions", params={"model": "a"}, headers=headers)
            assert told.status_code == 200, told.text
            rows = sorted(told.json()["transitions"], key=lambda row: row["epoch"])
            return [(row["from_level"], row["to_level"], row["reasons"]) for row in rows]

        async def opened() -> bool:
            return any(to == "open" for _, to, _ in await moves())

        async def proven() -> bool:
            return any("probes_passed" in why for _, _, why in await moves())

        upstream.set("a", "empty")
        users, stop = Users(router), asyncio.Event()
        asking = asyncio.create_task(users.ask(client, stop))
        stack.push_async_callback(end, [asking])
        await until(opened)
        upstream.set("a", "healthy")
        await until(proven)
        back_from = len(users.served)

        async def serves_again() -> bool:
            return any(model == "a" for _, model, _ in users.served[back_from:])

        await until(serves_again)
        stop.set()
        await asking
        told = await moves()
        up = [move for move in told if move[1] == "open" and move[0] != "recovering"]
        assert [why for _, _, why in up] == [["soft_failures"]], told
        assert ("recovering", "reduced", ["probes_passed"]) in told
        assert {status for status, _, _ in users.served} == {200}
        assert all(said for _, _, said in users.served), "every user got words"
        assert {model for _, model, _ in users.served[:30]} == {"b"}, "while the other had none"

"""Two routers and a monitor on one Redis and one database: one truth, one alert, and no request lost with a neighbour."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.robots import Robots
from tests.support.service import Running, running, settings_file
from tests.support.valkey import Valkey, start_valkey


@dataclass(frozen=True, kw_only=True)
class Fleet:
    routers: list[Running]
    monitor: Running
    upstream: ScriptedUpstream
    robot: Robots
    valkey: Valkey
    client: httpx.AsyncClient

    async def ask(self, router: Running, route: str = "chat") -> httpx.Response:
        body = {"model": route, "messages": [{"role": "user", "content": "hello"}]}
        return await self.client.post(f"{router.url}/v1/chat/completions", json=body)

    async def levels(self, router: Running) -> dict[str, int]:
        """Severity of each model as this router's metrics tell it."""
        text = (await self.client.get(f"{router.url}/metrics")).text
        lines = [line for line in text.splitlines() if line.startswith("pointsman_model_severity{")]
        return {line.split('"')[1]: int(float(line.split()[-1])) for line in lines}


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with AsyncExitStack() as stack:
        valkey = stack.enter_context(start_valkey())
        upstream = await stack.enter_async_context(ScriptedUpstream())
        robot = await stack.enter_async_context(Robots())
        channels = {"on-call": {"kind": "wecom", "url": robot.url("wecom")}}
        file = settings_file(tmp_path, upstream.base_url, redis_url=valkey.url, alerts={"channels": channels})
        env = {"POINTSMAN_ADMIN_TOKEN": "pma-test"}
        started = [running(file, "router", env), running(file, "router", env), running(file, "monitor", env)]
        up = await asyncio.gather(*(stack.enter_async_context(one) for one in started))
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
        yield Fleet(routers=list(up[:2]), monitor=up[2], upstream=upstream, robot=robot, valkey=valkey, client=client)


async def until(holds: Callable[[], object], within_s: float) -> None:
    end_s = asyncio.get_running_loop().time() + within_s
    while True:
        found = holds()
        if await found if asyncio.iscoroutine(found) else found:
            return
        assert asyncio.get_running_loop().time() < end_s, "not seen in time"
        await asyncio.sleep(0.05)


async def test_two_routers_agree_within_two_seconds_and_each_condition_is_told_once(fleet: Fleet) -> None:
    first, second = fleet.routers
    fleet.upstream.set("a", "500")

    async def first_moved() -> bool:
        await fleet.ask(first)
        return (await fleet.levels(first))["a"] == 3

    async def second_moved() -> bool:
        return (await fleet.levels(second))["a"] == 3

    await until(first_moved, 40)
    await until(second_moved, 2.5)
    # The model's own incident, and that of the route that has no other model: told once each.
    await until(lambda: len(fleet.robot.received) >= 2, 20)
    await asyncio.sleep(3)
    told = sorted(text.splitlines()[0] for text in fleet.robot.texts("wecom"))
    assert len(told) == 2
    assert [("L3" in title, "lone" in title) for title in told].count((True, False)) == 1
    assert [("L3" in title, "lone" in title) for title in told].count((False, True)) == 1


async def test_killing_one_router_costs_the_other_no_request(fleet: Fleet) -> None:
    first, second = fleet.routers
    before = [await fleet.ask(second) for _ in range(5)]
    first.process.send_signal(signal.SIGKILL)
    after = [await fleet.ask(second) for _ in range(40)]
    assert {answer.status_code for answer in before + after} == {200}


async def test_redis_going_and_coming_back_costs_no_request(fleet: Fleet) -> None:
    first, _ = fleet.routers
    fleet.valkey.stop()
    gone = [await fleet.ask(first) for _ in range(40)]
    fleet.valkey.restart()
    back = [await fleet.ask(first) for _ in range(20)]
    assert {answer.status_code for answer in gone + back} == {200}


async def test_sigterm_ends_a_router_without_an_error(fleet: Fleet) -> None:
    assert await fleet.routers[0].stop() == 0

"""Alerts by real processes: two monitors that both may send, one that is killed while it sends, a dead robot, no monitor."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.robots import Robots
from tests.support.service import Running, running, settings_file
from tests.support.valkey import start_valkey

pytestmark = pytest.mark.timeout(300)
OPEN = "a: L3 open"
TOKEN = {"POINTSMAN_ADMIN_TOKEN": "pma-test"}


@dataclass(frozen=True, kw_only=True)
class Site:
    stack: AsyncExitStack
    file: Path
    robots: Robots
    client: httpx.AsyncClient

    async def start(self, role: str) -> Running:
        return await self.stack.enter_async_context(running(self.file, role, TOKEN))

    async def force(self, monitor: Running, model: str, mode: str = "forced_open") -> None:
        body = {"mode": mode, "reason": "vendor incident", "actor": "olga", "minutes": 30}
        answer = await self.client.post(f"{monitor.url}/admin/models/{model}/force", json=body)
        assert answer.status_code == 200, answer.text

    def told(self, kind: str) -> int:
        """How often that robot was told that `a` is open."""
        return sum(OPEN in text for text in self.robots.texts(kind))

    async def said(self, monitor: Running, *words: str) -> tuple[int, str]:
        """What the command line says, asked of that monitor."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pointsman", *words, "--url", monitor.url),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **TOKEN, "COLUMNS": "200"},
        )
        told, _ = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode is not None
        return process.returncode, told.decode()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        valkey = stack.enter_context(start_valkey())
        upstream = await stack.enter_async_context(ScriptedUpstream())
        robots = await stack.enter_async_context(Robots())
        channels = {kind: {"kind": kind, "url": robots.url(kind)} for kind in ("wecom", "feishu")}
        alerts = {
            "channels": channels,
            "language": "en",
            "link_base": "http://ops.example",
            "policy": {"group_wait_s": 1},
        }
        file = settings_file(tmp_path, upstream.base_url, redis_url=valkey.url, alerts=alerts)
        headers = {"authorization": "Bearer pma-test"}
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=30, headers=headers))
        yield Site(stack=stack, file=file, robots=robots, client=client)


async def until(holds: Callable[[], object], within_s: float) -> None:
    end_s = asyncio.get_running_loop().time() + within_s
    while True:
        found = holds()
        if await found if asyncio.iscoroutine(found) else found:
            return
        assert asyncio.get_running_loop().time() < end_s, "not seen in time"
        await asyncio.sleep(0.05)


async def test_two_monitors_tell_each_robot_once_and_people_handle_it_by_the_command_line(site: Site) -> None:
    one, two = await asyncio.gather(site.start("monitor"), site.start("monitor"))
    await site.force(one, "a")
    await until(lambda: site.told("wecom") and site.told("feishu"), 40)
    (row,) = (await site.client.get(f"{two.url}/admin/alerts?kind=transition")).json()["alerts"]
    assert (row["ref"], row["state"]) == ("A1", "firing")
    code, told = await site.said(two, "ack", "A1", "--as", "olga")
    assert (code, "taken by olga" in told) == (0, True), told
    timeline = (await site.client.get(f"{one.url}/admin/alerts/A1")).json()["events"]
    assert [event["event"] for event in timeline] == ["fired", "told", "acked"]
    code, told = await site.said(two, "alerts", "test", "feishu")
    assert (code, told.startswith("feishu: ok")) == (0, True), told
    # Time for a second message, had there been one.
    await asyncio.sleep(3)
    assert site.told("wecom") == site.told("feishu") == 1

    path = next(text for text in site.robots.texts("wecom") if OPEN in text).partition("(http://ops.example/ack/")[2]
    async with httpx.AsyncClient(base_url=one.url) as anybody:
        shown = (await anybody.get(f"/ack/{path.partition(')')[0]}")).text
        assert "A1" in shown
        assert "olga" in shown
        assert (await anybody.get("/runbooks/transition")).status_code == 200


async def test_a_monitor_killed_while_it_sends_leaves_the_message_to_the_other(site: Site) -> None:
    one = await site.start("monitor")
    site.robots.answers["wecom"].append("hang")
    await site.force(one, "a")
    await until(lambda: "wecom" in site.robots.asked, 40)
    one.process.send_signal(signal.SIGKILL)
    await one.process.wait()
    await site.start("monitor")
    await until(lambda: site.told("wecom") and site.told("feishu"), 60)
    await asyncio.sleep(2)
    assert site.told("wecom") == site.told("feishu") == 1


async def test_a_robot_that_refuses_us_is_told_of_by_the_other(site: Site) -> None:
    monitor = await site.start("monitor")
    site.robots.answers["wecom"].extend([93000] * 50)
    await site.force(monitor, "a")
    await until(lambda: any("cannot be used" in text for text in site.robots.texts("feishu")), 60)
    rows = (await site.client.get(f"{monitor.url}/admin/alert-channels")).json()["channels"]
    assert [(row["state"], row["detail"].partition(":")[0]) for row in rows] == [
        ("broken", "errcode 93000"),
        ("ok", ""),
    ]
    site.robots.answers["wecom"].clear()
    code, told = await site.said(monitor, "alerts", "test", "wecom")
    assert (code, "wecom: ok" in told) == (0, True), told
    over = (await site.client.get(f"{monitor.url}/admin/alerts?state=resolved")).json()["alerts"]
    assert [row["kind"] for row in over] == ["robot_broken"]


async def test_what_routers_found_without_a_monitor_is_told_when_one_comes(site: Site) -> None:
    upstream_dead = json.loads(site.file.read_text())
    upstream_dead["models"]["a"]["endpoints"][0]["base_url"] = "http://127.0.0.1:9/"
    # Longer than any machine takes to start a monitor: what is told is where the model still stands.
    upstream_dead["breaker"] = {**upstream_dead.get("breaker", {}), "hard_cooldown_s": 300}
    site.file.write_text(json.dumps(upstream_dead))
    router = await site.start("router")
    body = {"model": "chat", "messages": [{"role": "user", "content": "hello"}]}

    async def moved() -> bool:
        await site.client.post(f"{router.url}/v1/chat/completions", json=body)
        return 'pointsman_model_severity{model="a"} 3' in (await site.client.get(f"{router.url}/metrics")).text

    await until(moved, 90)
    assert site.robots.asked == []
    await site.start("monitor")
    await until(lambda: site.told("wecom"), 90)

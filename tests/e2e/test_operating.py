"""What operators do by command line, over real processes: clock jobs, a gray release that goes wrong, an export."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from pointsman.demo.scripted import ScriptedUpstream
from tests.support.service import Running, running, settings_file
from tests.support.valkey import Valkey, start_valkey

pytestmark = pytest.mark.timeout(480)
TOKEN = "pma-test"
SCALE = 20.0  # a minute passes in three seconds


@dataclass(kw_only=True)
class Fleet:
    file: Path
    valkey: Valkey
    upstream: ScriptedUpstream
    client: httpx.AsyncClient
    stack: AsyncExitStack
    router: Running
    monitors: list[Running] = field(default_factory=list)

    async def monitor(self) -> Running:
        started = await self.stack.enter_async_context(running(self.file, "monitor", {"POINTSMAN_ADMIN_TOKEN": TOKEN}))
        self.monitors.append(started)
        return started

    async def cli(self, *args: str, url: str | None = None, code: int = 0) -> str:
        """What the command prints; its exit code must be `code`. Run in this process, against the running ones."""
        more = () if url is None else ("--url", url)
        env = {"POINTSMAN_ADMIN_TOKEN": TOKEN, "COLUMNS": "200"}
        result = await asyncio.to_thread(CliRunner().invoke, app, [*args, *more], env=env)
        assert result.exit_code == code, result.output
        return result.stdout

    async def ask(self, session: str) -> str:
        """The model that answered."""
        body = {"model": "chat", "messages": [{"role": "user", "content": "hello"}]}
        headers = {"x-pointsman-session": session}
        answer = await self.client.post(f"{self.router.url}/v1/chat/completions", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.headers["x-pointsman-model"]


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with AsyncExitStack() as stack:
        valkey = stack.enter_context(start_valkey())
        upstream = await stack.enter_async_context(ScriptedUpstream())
        models = {name: {"endpoints": [{"base_url": upstream.base_url, "model": name}]} for name in ("a", "b", "a2")}
        gray = {"steps": [0.5, 1.0], "step_min_judged": 10, "step_min_s": 60}
        file = settings_file(
            tmp_path, upstream.base_url, redis_url=valkey.url, time_scale=SCALE, models=models, gray=gray
        )
        router = await stack.enter_async_context(running(file, "router"))
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
        yield Fleet(file=file, valkey=valkey, upstream=upstream, client=client, stack=stack, router=router)


async def until(holds: Callable[[], Awaitable[Any]], within_s: float = 200.0) -> Any:
    """The first true answer. A lease of 30 s, a look each 10 s and a job leave little of a minute on a busy machine."""
    end_s = asyncio.get_running_loop().time() + within_s
    while not (found := await holds()):
        assert asyncio.get_running_loop().time() < end_s, "not seen in time"
        await asyncio.sleep(0.2)
    return found


async def test_a_job_asked_of_any_monitor_runs_once_also_after_the_leader_was_killed(fleet: Fleet) -> None:
    first, second = await fleet.monitor(), await fleet.monitor()

    async def ran(by: Running, count: int) -> bool:
        history = await fleet.client.get(f"{by.url}/admin/jobs/hourly", headers={"authorization": f"Bearer {TOKEN}"})
        hand = [run for run in history.json()["runs"] if run["slot"].startswith("hand-")]
        return len(hand) == count and {(run["state"], run["tries"]) for run in hand} == {("done", 1)}

    assert "is asked for" in await fleet.cli("jobs", "run", "hourly", "--reason", "look", url=second.url)
    await until(lambda: ran(second, 1))
    # The first to come leads: after its death the second must, or nobody runs what is asked for.
    first.process.send_signal(signal.SIGKILL)
    await fleet.cli("jobs", "run", "hourly", url=second.url)
    await until(lambda: ran(second, 2))
    listed = {job["job"]: job for job in json.loads(await fleet.cli("jobs", "--json", "--url", second.url))}
    assert {"hourly", "retention", "feedback"} <= listed.keys()
    assert listed["hourly"]["last"]["state"] == "done"
    assert listed["hourly"]["next_at"] > listed["hourly"]["last"]["started_at"]
    assert "done" in await fleet.cli("jobs", "history", "hourly", url=second.url)
    await fleet.cli("jobs", "run", "no-such-job", url=second.url, code=1)


async def test_a_gray_version_that_loops_is_rolled_back_by_itself_and_no_client_sees_it(
    fleet: Fleet, tmp_path: Path
) -> None:
    monitor = await fleet.monitor()
    told = await fleet.cli("gray", "start", "a", "a2", "--reason", "new weights", url=monitor.url)
    assert "running, 50%" in told

    async def standing() -> dict[str, Any]:
        releases = json.loads(await fleet.cli("gray", "--json", "--url", monitor.url))
        (release,) = releases
        return dict(release)

    async def split() -> bool:
        return {await fleet.ask(f"s{number}") for number in range(12)} == {"a", "a2"}

    await until(split)
    first = {session: await fleet.ask(session) for session in map(str, range(20))}
    assert {session: await fleet.ask(session) for session in first} == first
    fleet.upstream.set("a2", "phrase_loop")

    async def rolled_back() -> dict[str, Any] | None:
        for number in range(40):
            assert await fleet.ask(f"t{number}") != "a2"
        release = await standing()
        return release if release["stage"] == "rolled_back" else None

    ended = await until(rolled_back, 100)
    assert ended["reason"] in ("worse_repeats", "opened")
    assert ended["gray"]["repeats"] > 0
    assert {await fleet.ask(f"u{number}") for number in range(20)} == {"a"}
    assert "rolled back" in await fleet.cli("gray", "report", "a", "--language", "en", url=monitor.url)
    await fleet.cli("gray", "start", "a", "a2", "--reason", "once more", url=monitor.url, code=1)
    file = tmp_path / "calls.jsonl"
    await fleet.cli("export", "calls", "--since", "30d", "-o", str(file), "-c", str(fleet.file))
    calls = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(calls) > 100
    assert {attempt["served"] for call in calls for attempt in call["attempts"] if "served" in attempt}

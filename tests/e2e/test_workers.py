"""Several workers on one machine: one address, one truth; a dead one is replaced, and none is left behind."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from pointsman.demo.scripted import ScriptedUpstream
from tests.e2e.test_fleet import until
from tests.e2e.test_run import alive, family
from tests.support.service import Running, running, settings_file

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see the processes")


@pytest.fixture
async def upstream() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream(delay_s=0.02) as scripted:
        yield scripted


def workers(service: Running) -> set[int]:
    """The router processes below the service, by the role they were started with."""

    def line(pid: int) -> list[bytes]:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return []

    return {pid for pid in family(service.process.pid) if b"router" in line(pid) and alive(pid)}


def logged(folder: Path) -> str:
    return "".join(log.read_text() for log in folder.glob("*.log"))


async def ask(client: httpx.AsyncClient, service: Running) -> int:
    body = {"model": "chat", "messages": [{"role": "user", "content": "hello"}]}
    return (await client.post(f"{service.url}/v1/chat/completions", json=body)).status_code


async def routes(service: Running) -> list[str]:
    async with httpx.AsyncClient(timeout=30) as client:
        return [route["id"] for route in (await client.get(f"{service.url}/v1/models")).json()["data"]]


@pytest.mark.timeout(240)
async def test_two_workers_behave_as_replicas_behind_one_address(tmp_path: Path, upstream: ScriptedUpstream) -> None:
    file = settings_file(tmp_path, upstream.base_url, workers=2)
    async with running(file) as service, httpx.AsyncClient(timeout=30) as client:
        assert len(service.urls) == 2
        assert service.token.startswith("pma-")
        assert [await ask(client, service) for _ in range(10)] == [200] * 10

        async def all_counted() -> bool:
            text = (await client.get(f"{service.url}/metrics")).text
            lines = [line for line in text.splitlines() if line.startswith("pointsman_requests_total")]
            up = [line for line in text.splitlines() if line.startswith("pointsman_worker_up")]
            counted = sum(float(line.split()[-1]) for line in lines)
            return counted == 10 and [line.split()[-1] for line in up] == ["1", "1"]

        await until(all_counted, 10)
        kept = json.loads(file.read_text())
        kept["routes"]["new"] = {"candidates": [{"model": "b"}]}
        file.write_text(json.dumps(kept))
        service.process.send_signal(signal.SIGHUP)

        async def all_reloaded() -> bool:
            # A connection of its own for each, so that every worker is asked in time.
            return all(["new" in await routes(service) for _ in range(12)])

        await until(all_reloaded, 20)
        before = workers(service)
        assert len(before) == 2
        os.kill(min(before), signal.SIGKILL)

        async def replaced() -> bool:
            now = workers(service)
            return len(now) == 2 and min(before) not in now

        await until(replaced, 30)
        # A connection that the dead worker held is gone; the address itself never was.
        assert [await ask(client, service) for _ in range(10)] == [200] * 10
        below = family(service.process.pid)
        assert await service.stop() == 0
        assert [pid for pid in below if alive(pid)] == []


@pytest.mark.timeout(240)
async def test_killing_the_whole_leaves_neither_workers_nor_valkey_behind(
    tmp_path: Path, upstream: ScriptedUpstream
) -> None:
    file = settings_file(tmp_path, upstream.base_url)
    async with running(file, "router", more=["--workers", "2"]) as service:
        below = family(service.process.pid)
        assert len(below) >= 3  # two workers and Valkey
        service.process.kill()
        await service.process.wait()
        await until(lambda: not [pid for pid in below if alive(pid)], 30)
    # And whoever starts next finds nothing in its way.
    async with running(file, "router") as again, httpx.AsyncClient(timeout=30) as client:
        assert await ask(client, again) == 200


@pytest.mark.timeout(240)
async def test_ctrl_c_in_a_terminal_lets_a_stream_finish_and_says_nothing_frightening(
    tmp_path: Path, upstream: ScriptedUpstream
) -> None:
    file = settings_file(tmp_path, upstream.base_url, drain_s=20)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pointsman", "serve", "--config", str(file), "--role", "router"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # its own process group, as a terminal gives it
    )
    assert process.stdout is not None and process.stderr is not None
    url = (await asyncio.wait_for(process.stdout.readline(), 90)).decode().split()[-1]
    body = {"model": "chat", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    lines = []
    stream = ("POST", f"{url}/v1/chat/completions")
    async with httpx.AsyncClient(timeout=30) as client, client.stream(*stream, json=body) as answer:
        async for line in answer.aiter_lines():
            if not lines:
                os.killpg(process.pid, signal.SIGINT)  # everybody in the group, as Ctrl-C does
            lines.append(line)
    assert "data: [DONE]" in lines
    told = (await asyncio.wait_for(process.stderr.read(), 60)).decode()
    assert await asyncio.wait_for(process.wait(), 60) == 0
    for word in ("Traceback", "warning", "error", "does not answer"):
        assert word not in told


@pytest.mark.timeout(240)
async def test_a_stream_longer_than_the_drain_is_told_so_and_no_traceback_is_printed(tmp_path: Path) -> None:
    async with ScriptedUpstream(delay_s=2.0) as slow:
        file = settings_file(tmp_path, slow.base_url, drain_s=1)
        async with running(file, "router") as service, httpx.AsyncClient(timeout=60) as client:
            body = {"model": "chat", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
            lines = []
            async with client.stream("POST", f"{service.url}/v1/chat/completions", json=body) as answer:
                async for line in answer.aiter_lines():
                    if not lines:
                        service.process.send_signal(signal.SIGINT)
                    lines.append(line)
            assert "data: [DONE]" not in lines
            assert any("shutting_down" in line for line in lines)
            assert await asyncio.wait_for(service.process.wait(), 60) == 0
        assert "Traceback" not in logged(tmp_path)


@pytest.mark.timeout(180)
async def test_workers_that_cannot_start_are_told_in_one_line_and_leave_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        file = settings_file(tmp_path, "http://127.0.0.1:9/v1", workers=2, admin_listen=f"127.0.0.1:{port}")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pointsman", "serve", "--config", str(file)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, told = await asyncio.wait_for(process.communicate(), 120)
        assert process.returncode == 1
        assert b"listening on" not in said
        assert f"cannot listen on 127.0.0.1:{port}" in told.decode()
        assert "worker 2 ended with 1 before it was ready" in told.decode()
        assert "Traceback" not in told.decode()

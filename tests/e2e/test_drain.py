"""SIGTERM in the middle of a stream: the stream finishes, nobody new is let in, the process ends without an error."""

import asyncio
import json
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.service import running, settings_file

STREAMS = 16
"""Enough hard failures at once to open a model."""


async def test_a_running_stream_finishes_after_sigterm(tmp_path: Path) -> None:
    async with ScriptedUpstream(delay_s=0.01) as upstream:
        file = settings_file(tmp_path, upstream.base_url, drain_s=30)
        async with running(file, "router") as service, httpx.AsyncClient(timeout=40) as client:
            body = {"model": "chat", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
            lines = []
            async with client.stream("POST", f"{service.url}/v1/chat/completions", json=body) as answer:
                async for line in answer.aiter_lines():
                    if not lines:
                        service.process.send_signal(signal.SIGTERM)
                    lines.append(line)
            assert "data: [DONE]" in lines
            assert await asyncio.wait_for(service.process.wait(), 90) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_what_a_second_signal_ends_is_told_to_its_clients_and_is_never_the_models_fault(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with ScriptedUpstream() as upstream:
        file = settings_file(tmp_path, upstream.base_url, drain_s=60)
        async with running(file) as service, httpx.AsyncClient(timeout=60) as client:
            begun = [asyncio.Event() for _ in range(STREAMS)]
            streams = [asyncio.create_task(_events(client, service.url, begun=event)) for event in begun]
            await asyncio.gather(*(event.wait() for event in begun))
            service.process.send_signal(number)
            await _refused(service.url)  # it drains: the next one is the second
            service.process.send_signal(number)
            told = await asyncio.wait_for(asyncio.gather(*streams), 90)
            assert await asyncio.wait_for(service.process.wait(), 90) == 0
        assert [one[-1].get("error", {}).get("code") for one in told] == ["shutting_down"] * STREAMS
        async with running(file) as service, httpx.AsyncClient(timeout=60) as client:
            body = {"model": "lone", "messages": [{"role": "user", "content": "hello"}]}
            answer = await client.post(f"{service.url}/v1/chat/completions", json=body)
            assert answer.headers["x-pointsman-model"] == "a"
            page = (await client.get(f"{service.url}/metrics")).text
            assert 'pointsman_model_severity{model="a"} 0.0' in page
        with sqlite3.connect(tmp_path / "var" / "pointsman.db") as sql:
            rows = sql.execute("select code, attempts from call order by code desc").fetchall()
        assert [(code, json.loads(tried)[0]["fault"]) for code, tried in rows] == [
            *[("shutting_down", "ended_by_us")] * STREAMS,
            ("", None),
        ]


async def _events(client: httpx.AsyncClient, url: str, *, begun: asyncio.Event) -> list[dict[str, Any]]:
    """All events of a slow stream; `begun` at the first."""
    body = {"model": "lone", "stream": True, "messages": [{"role": "user", "content": "hello [[slow]]"}]}
    found = []
    async with client.stream("POST", f"{url}/v1/chat/completions", json=body) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                begun.set()
                found.append(json.loads(line.removeprefix("data: ")))
    return found


async def _refused(url: str) -> None:
    host, port = httpx.URL(url).host, httpx.URL(url).port
    for _ in range(3_000):
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            return
        writer.close()
        await asyncio.sleep(0.02)
    raise AssertionError("it still takes connections")


async def test_a_taken_address_is_told_in_one_line(tmp_path: Path) -> None:
    async with ScriptedUpstream() as upstream:
        file = settings_file(tmp_path, upstream.base_url, listen=f"127.0.0.1:{upstream.port}")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pointsman", "serve", "--config", str(file), "--role", "router"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, told = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 1
        assert f"cannot listen on 127.0.0.1:{upstream.port}" in told.decode()


async def test_a_second_service_on_one_data_dir_is_told_one_thing_to_do(tmp_path: Path) -> None:
    async with ScriptedUpstream() as upstream:
        file = settings_file(tmp_path, upstream.base_url)
        async with running(file, "router"):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "pointsman", "serve", "--config", str(file), "--role", "router"),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            _, told = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 1
        lines = told.decode().splitlines()
        assert len(lines) == 1, lines
        assert f"another pointsman is running on data_dir {tmp_path / 'var'}: stop it, or give" in lines[0]
        assert "redis_url" not in lines[0]

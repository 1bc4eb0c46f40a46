"""SIGTERM in the middle of a stream: the stream finishes, nobody new is let in, the process ends without an error."""

import asyncio
import signal
import sys
from pathlib import Path

import httpx

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.service import running, settings_file


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

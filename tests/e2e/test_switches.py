"""An operator's switch from the command line to a real router, and back by itself."""

import asyncio
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from pointsman.demo.scripted import ScriptedUpstream
from tests.e2e.test_fleet import until
from tests.support.service import running, settings_file


@pytest.mark.timeout(180)
async def test_phrase_only_and_observe_are_obeyed_within_seconds_and_end(tmp_path: Path) -> None:
    async with ScriptedUpstream() as upstream, httpx.AsyncClient(timeout=30) as client:
        file = settings_file(tmp_path, upstream.base_url)
        async with running(file, env={"POINTSMAN_ADMIN_TOKEN": "pma-test"}) as service:

            async def cli(*line: str) -> str:
                where = ("--url", service.urls[1], "--token", "pma-test")
                done = await asyncio.to_thread(CliRunner().invoke, app, ["switch", *line, *where])
                assert done.exit_code == 0, done.output
                return done.output

            async def fallback(word: str = "hello") -> str:
                body = {"model": "lone", "messages": [{"role": "user", "content": word}]}
                answer = await client.post(f"{service.url}/v1/chat/completions", json=body)
                return f"{answer.headers['x-pointsman-fallback']} {answer.headers['x-pointsman-verdict']}"

            async def says(expected: str, word: str = "hello") -> bool:
                return await fallback(word) == expected

            assert await fallback() == "none clean"
            await cli("set", "phrase_only", "--reason", "incident", "--route", "lone", "--minutes", "0.1")
            await until(lambda: says("phrase none"), 5)
            await until(lambda: says("none clean"), 15)  # its end came
            await cli("set", "observe", "--reason", "false alarms")
            await until(lambda: says("none degenerate", "[[stuck]]"), 5)
            assert "observe" in (await cli("--json"))
            await cli("set", "normal", "--reason", "over")
            await until(lambda: says("none clean"), 5)
            acts = await client.get(f"{service.urls[1]}/admin/switches", headers={"authorization": "Bearer pma-test"})
            assert acts.json()["switches"] == []

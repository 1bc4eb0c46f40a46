"""The evaluation over real processes: a run that is killed goes on, ends once, and asks nothing twice that was answered."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from monitor.nightly.records import Result, Run, RunState
from pointsman.demo.scripted import ScriptedUpstream
from store.sql_evals import SqlEvals
from store.sql_link import open_engine
from store.sql_reports import SqlReports
from tests.support.service import Running, running, settings_file
from tests.support.valkey import start_valkey

ENV = {"POINTSMAN_ADMIN_TOKEN": "pma-test"}
PATIENCE_S = 180.0
"""For what takes seconds on a machine that is not overloaded."""
PROMPTS = 30
SUITE = f"""
suite: small
language: en
size: {PROMPTS}
items:
  - id: numbers
    lure: list_counting
    prompt: Tell me something about the number {{n}}.
    vary: {{n: {[str(n) for n in range(PROMPTS)]}}}
"""

pytestmark = pytest.mark.timeout(600)


def configured(folder: Path, base_url: str, **more: object) -> Path:
    suite = folder / "suite.yaml"
    suite.write_text(SUITE, encoding="utf-8")
    limits = {"per_minute": 60_000, "concurrency": 2}
    return settings_file(folder, base_url, nightly={"suites": [str(suite)], "limits": limits}, **more)


@asynccontextmanager
async def kept(folder: Path) -> AsyncIterator[tuple[SqlEvals, SqlReports]]:
    engine = open_engine(f"sqlite:///{folder / 'var' / 'pointsman.db'}")
    yield SqlEvals(engine), SqlReports(engine)
    await engine.dispose()


async def until(holds: Callable[[], bool | Awaitable[bool]], within_s: float) -> None:
    end_s = asyncio.get_running_loop().time() + within_s
    while True:
        found = holds()
        if found if isinstance(found, bool) else await found:
            return
        assert asyncio.get_running_loop().time() < end_s, "not seen in time"
        await asyncio.sleep(0.05)


async def evaluated(file: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pointsman", "eval", "--config", str(file), *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": "200"},
    )


def whole(results: list[Result]) -> bool:
    keys = {result.key for result in results}
    return len(keys) == len(results) == 2 * PROMPTS


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
async def test_a_run_by_hand_that_was_cut_short_goes_on(tmp_path: Path, number: int) -> None:
    async with ScriptedUpstream(delay_s=0.01) as upstream, kept(tmp_path) as (evals, _):
        upstream.set("a", "sentence_loop")
        file = configured(tmp_path, upstream.base_url)
        process = await evaluated(file)
        await until(lambda: len(upstream.requests) >= PROMPTS // 2, PATIENCE_S)
        process.send_signal(number)
        _, told = await asyncio.wait_for(process.communicate(), 90)
        (run,) = await evals.runs()
        assert run.state is RunState.RUNNING
        if number == signal.SIGINT:
            assert process.returncode == 130
            assert f"pointsman eval --resume {run.id}" in told.decode()
        before = len(await evals.results(run.id))
        asked = len(upstream.requests)

        again = await evaluated(file, "--resume", run.id)
        out, err = await asyncio.wait_for(again.communicate(), PATIENCE_S)
        assert again.returncode == 0, err.decode()
        assert whole(list(await evals.results(run.id)))
        assert len(upstream.requests) - asked == 2 * PROMPTS - before
        assert (await evals.run(run.id) or run).state is RunState.DONE
        assert "60 answers" in out.decode() and "100.0%" in out.decode()

        third = await evaluated(file, "--resume", run.id)
        _, told = await asyncio.wait_for(third.communicate(), PATIENCE_S)
        assert third.returncode == 2 and "is done already" in told.decode()


async def test_row_47_a_leader_killed_in_the_night_is_taken_over_and_the_run_ends_once(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        valkey = stack.enter_context(start_valkey())
        upstream = await stack.enter_async_context(ScriptedUpstream(delay_s=0.01))
        evals, reports = await stack.enter_async_context(kept(tmp_path))
        # Ten times faster than life: the lease of the dead leader ends in three seconds.
        file = configured(tmp_path, upstream.base_url, redis_url=valkey.url, time_scale=10)
        first = await stack.enter_async_context(running(file, "monitor", ENV))
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=30, headers=_headers()))
        slot = await _ask(client, first)
        await until(lambda: len(upstream.requests) >= PROMPTS // 2, PATIENCE_S)
        await first.stop(signal.SIGKILL)
        run = await _run(evals)
        assert (run.id, run.state) == (f"nightly-{slot}", RunState.RUNNING)
        kept_before, asked = len(await evals.results(run.id)), len(upstream.requests)

        second = await stack.enter_async_context(running(file, "monitor", ENV))

        async def ended() -> bool:
            return (await _run(evals)).state is RunState.DONE

        await until(ended, PATIENCE_S)
        assert whole(list(await evals.results(run.id)))
        # What was in flight when the leader died is asked again, and nothing else.
        assert len(upstream.requests) - asked == 2 * PROMPTS - kept_before > 0
        assert [entry.run_id for entry in await reports.reports()] == [run.id]

        async def told() -> bool:
            jobs = (await client.get(f"{second.url}/admin/jobs/evaluate")).json()["runs"]
            return [one["state"] for one in jobs if one["slot"] == slot] == ["done"]

        await until(told, PATIENCE_S)
        # A monitor alone has no clients' port: what it did is told on the operators'.
        metrics = (await client.get(f"{second.url}/metrics")).text
        assert 'pointsman_job_runs_total{job="evaluate",result="done"} 1.0' in metrics
        assert 'pointsman_evaluation_answers_total{model="a",outcome="good"}' in metrics


def _headers() -> dict[str, str]:
    return {"authorization": "Bearer pma-test"}


async def _ask(client: httpx.AsyncClient, service: Running) -> str:
    body = {"reason": "a test", "actor": "test"}
    answer = await client.post(f"{service.url}/admin/jobs/evaluate/run", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["slot"])


async def _run(evals: SqlEvals) -> Run:
    (run,) = await evals.runs()
    return run


async def test_a_dry_run_asks_nobody_and_tells_the_cost(tmp_path: Path) -> None:
    async with ScriptedUpstream() as upstream:
        file = configured(tmp_path, upstream.base_url)
        data = json.loads(file.read_text())
        data["nightly"]["prices"] = {"a": {"input": 1, "output": 4}}
        file.write_text(json.dumps(data))
        process = await evaluated(file, "--dry")
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
        assert process.returncode == 0, err.decode()
        assert upstream.requests == []
        assert "30 of 30 prompts" in out.decode()
        assert "no cost is told for models without a price" in out.decode()

"""The suite against the real small model: forty prompts, by the command a person types."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from monitor.nightly.records import RunState
from monitor.nightly.shapes import Lure
from pointsman.demo.small_model import ALIAS, SICK, SmallModel, available
from store.sql_evals import SqlEvals
from store.sql_link import open_engine

TOKENS = 64
"""Of a reply: enough for a loop to come round, and 40 of them take half a minute of a quiet processor."""


@pytest.mark.model
@pytest.mark.timeout(900)
@pytest.mark.skipif(available() is not None, reason=str(available()))
async def test_forty_prompts_find_its_loops(tmp_path: Path) -> None:
    async with SmallModel() as model:
        sick = {**SICK, "max_tokens": TOKENS}
        endpoint = {"base_url": model.base_url, "model": ALIAS, "extra_body": sick}
        settings = {
            "data_dir": str(tmp_path / "var"),
            "models": {"small": {"endpoints": [endpoint]}},
            "routes": {"chat": {"candidates": [{"model": "small"}]}},
            "nightly": {"limits": {"per_minute": 6_000}, "timeout_s": 600, "parameters": {"max_tokens": TOKENS}},
        }
        file = tmp_path / "pointsman.yaml"
        file.write_text(json.dumps(settings), encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pointsman", "eval", "--config", str(file), "--sample", "40", "--seed", "1"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "COLUMNS": "200"},
        )
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    engine = open_engine(f"sqlite:///{tmp_path / 'var' / 'pointsman.db'}")
    (run,) = await SqlEvals(engine).runs()
    results = await SqlEvals(engine).results(run.id)
    await engine.dispose()
    assert run.state is RunState.DONE and run.sampled
    assert len(results) == 40 and {result.lure for result in results} == {lure.value for lure in Lure}
    judged = [result for result in results if result.counted]
    ill = [result for result in judged if result.ill]
    # More than half at 200 tokens in the run of docs/evaluation.md; of those replies cut after 64 tokens, 8 in these 40.
    assert len(judged) >= 38 and 3 <= len(ill) <= 24
    assert all(result.reply and result.served_model == ALIAS for result in ill)
    assert "40 answers" in out.decode()

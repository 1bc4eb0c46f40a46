"""The demo's story, played as a person would: it takes minutes, so it runs by `make test-long`."""

import asyncio
import sys

import pytest


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_the_story_goes_as_told() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pointsman", "demo"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await process.communicate()
    assert process.returncode == 0, told.decode()
    assert "the story went as told" in told.decode()

"""`pointsman run` in an empty folder: a newcomer's first minute, and what is left of it after Ctrl-C."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import httpx
import pytest

UP_S = 90.0


def family(pid: int) -> set[int]:
    """The processes below `pid`, from /proc."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        parents[int(stat.parent.name)] = int(rest[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see what is left")
@pytest.mark.timeout(180)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
async def test_it_answers_and_leaves_no_process_behind(tmp_path: Path, number: int) -> None:
    process = await _begun(tmp_path)
    try:
        url = await asyncio.wait_for(_url(process), UP_S)
        children = family(process.pid)
        async with httpx.AsyncClient(timeout=30) as client:
            body = {"model": "scripted", "messages": [{"role": "user", "content": "hello"}]}
            answer = await client.post(f"{url}/chat/completions", json=body)
        assert answer.status_code == 200
        assert len(children) >= 2  # the scripted upstream and Valkey at least
        process.send_signal(number)
        assert await asyncio.wait_for(process.wait(), 90) == 0
        await asyncio.sleep(0.5)
        assert [pid for pid in children if alive(pid)] == []
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.timeout(180)
async def test_ctrl_c_while_the_demo_starts_was_an_error_to_make(tmp_path: Path) -> None:
    process = await _begun(tmp_path)
    try:
        assert process.stdout is not None
        first = await asyncio.wait_for(process.stdout.readline(), UP_S)
        assert first.startswith(b"starting the demo")
        process.send_signal(signal.SIGINT)
        rest, _ = await asyncio.wait_for(process.communicate(), 90)
        assert (process.returncode, b"Traceback" in rest) == (0, False), rest
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _begun(folder: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pointsman", "run"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        start_new_session=True,
    )


async def _url(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    said = ""
    while line := (await process.stdout.readline()).decode():
        if line.startswith("clients:"):
            return line.split()[1]
        said += line
    raise AssertionError(f"it ended before it listened: {said}")

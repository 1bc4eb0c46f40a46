"""The real service as child processes on ephemeral ports, over a scripted upstream in this process."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UP_S = 100.0
"""Beside other tests a process starts slowly."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """One process. `urls`: clients first, then operators, as far as its role has them."""

    process: asyncio.subprocess.Process
    urls: list[str]
    token: str

    @property
    def url(self) -> str:
        return self.urls[0]

    async def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.returncode is None:
            self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), 90)


def settings_file(folder: Path, base_url: str, **more: Any) -> Path:
    """A pointsman.yaml (JSON is YAML): route `chat` prefers model `a`, then `b`; route `lone` has `a` alone."""
    models = {name: {"endpoints": [{"base_url": base_url, "model": name}]} for name in ("a", "b")}
    routes = {
        "chat": {"candidates": [{"model": "a"}, {"model": "b", "priority": 1}]},
        "lone": {"candidates": [{"model": "a"}]},
    }
    whole = {"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0", "data_dir": str(folder / "var"), "drain_s": 5}
    file = folder / "pointsman.yaml"
    file.write_text(json.dumps({**whole, "models": models, "routes": routes, **more}), encoding="utf-8")
    return file


@contextlib.asynccontextmanager
async def running(
    file: Path, role: str = "all", env: Mapping[str, str] | None = None, more: Sequence[str] = ()
) -> AsyncIterator[Running]:
    """`pointsman serve` until the block ends; then SIGTERM. `more`: further options."""
    log = file.with_suffix(f".{role}.{os.urandom(3).hex()}.log")
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pointsman", "serve", "--config", str(file), "--role", role, *more),
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(env or {})},
        )
    started = None
    try:
        started = await asyncio.wait_for(_started(process, 2 if role == "all" else 1), UP_S)
        yield started
    except TimeoutError as error:
        raise AssertionError(f"the service did not come up: {log.read_text()}") from error
    finally:
        if process.returncode is None:
            process.terminate()
            await asyncio.wait_for(process.wait(), 90)


async def _started(process: asyncio.subprocess.Process, doors: int) -> Running:
    assert process.stdout is not None
    urls: list[str] = []
    token = ""
    while len(urls) < doors:
        line = (await process.stdout.readline()).decode()
        assert line, "the service ended before it listened"
        if "listening on" in line:
            urls.append(line.split("listening on ")[1].split()[0])
    with contextlib.suppress(TimeoutError):
        line = (await asyncio.wait_for(process.stdout.readline(), 0.5)).decode()
        token = line.split()[-1] if "token" in line else ""
    return Running(process=process, urls=urls, token=token)

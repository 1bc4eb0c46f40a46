"""A process that only routes loads nothing of what migrates, tells people, draws or runs by the clock."""

import asyncio
import signal
import sys
from pathlib import Path

import httpx

from store.migrate import upgrade
from tests.support.service import UP_S, settings_file

LOADED = """
import atexit, sys
atexit.register(lambda: sys.stdout.write("loaded " + " ".join(sys.modules) + "\\n"))
from pointsman.__main__ import main
main()
"""
NOT_HERE = {"alembic", "mako", "jinja2", "apscheduler", "numpy", "rich", "pygments"}
CONSOLE = {f"console.{name}_ports" for name in ("fleet", "record", "key", "phrase", "config", "switch")}
"""Records and ports, of which adapters in the router's process are the other half."""
MONITOR = {
    "monitor.report",
    "monitor.replay",
    "monitor.probes",
    "monitor.schedule",
    "monitor.alerts.sender",
    "monitor.alerts.render",
}
OURS = {
    "pointsman.operators",
    "pointsman.console",
    "pointsman.telling",
    "pointsman.clockwork",
    "pointsman.nightly",
    "pointsman.demo",
}


async def loaded(tmp_path: Path, role: str) -> set[str]:
    """The names of all modules of a process of that role at its end, after a request to its first door."""
    url = f"sqlite:///{tmp_path / 'calls.db'}"
    await upgrade(url)
    file = settings_file(tmp_path, "http://127.0.0.1:9/v1", sql_url=url)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", LOADED, "serve", "--config", str(file), "--role", role),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(UP_S):
            line = (await process.stdout.readline()).decode()
            assert "listening on" in line
            async with httpx.AsyncClient(timeout=30) as client:
                asked = {"model": "chat", "messages": [{"role": "user", "content": "hello"}]}
                await client.post(line.split()[-1] + "/v1/chat/completions", json=asked)
            process.send_signal(signal.SIGTERM)
            told = (await process.stdout.read()).decode()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    return set(told.rpartition("loaded ")[2].split())


def under(names: set[str], heads: set[str]) -> set[str]:
    return {name for name in names if any(name == head or name.startswith(f"{head}.") for head in heads)}


async def test_a_router_loads_only_what_routes(tmp_path: Path) -> None:
    names = await loaded(tmp_path, "router")
    assert {"router.api", "pointsman.monitoring", "sqlalchemy"} <= names
    assert under(names, NOT_HERE | MONITOR | OURS) == set()
    assert {name for name in names if name.startswith("console.")} <= CONSOLE
    assert {name for name in names if name.startswith("monitor.nightly.")} <= {"monitor.nightly.policy"}


async def test_a_monitor_does_load_what_a_router_does_not(tmp_path: Path) -> None:
    names = await loaded(tmp_path, "monitor")
    assert {"jinja2", "apscheduler", "console.app", "pointsman.operators"} <= names

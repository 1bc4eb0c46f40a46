"""What an idle router costs: processor seconds until it listens, and resident memory after it.

Run from the repository's root: `python -m bench.start`; writes bench/results/start.json. Figures are from /proc (Linux). A common Valkey and a database that is
at its newest version are there already, as for each worker after the first start.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from bench.processes import RESULTS

PAGE, TICK = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
SETTLE_S = 5.0


def spent_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6


async def started(file: Path) -> tuple[asyncio.subprocess.Process, float]:
    """The router, listening, and the processor seconds until then."""
    line = (sys.executable, "-m", "pointsman", "serve", "--config", str(file), "--role", "router")
    process = await asyncio.create_subprocess_exec(*line, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    told = await process.stdout.readline()
    assert b"listening on" in told, told
    return process, spent_s(process.pid)


async def ended(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    await process.wait()


def settings(folder: Path) -> Path:
    models = {"a": {"endpoints": [{"base_url": "http://127.0.0.1:9/v1", "model": "a"}]}}
    routes = {"chat": {"candidates": [{"model": "a"}]}}
    whole = {"listen": "127.0.0.1:0", "data_dir": str(folder / "var"), "models": models, "routes": routes}
    file = folder / "pointsman.yaml"
    file.write_text(json.dumps(whole))
    return file


async def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = settings(Path(folder))
        for what in ("empty database", "database at its newest version"):
            process, cpu_s = await started(file)
            await asyncio.sleep(SETTLE_S)
            rows.append({"what": what, "cpu_s": cpu_s, "resident_mb": resident_mb(process.pid)})
            print(
                f"{what}: {cpu_s:.2f} s of processor time until it listens, {rows[-1]['resident_mb']:.0f} MB resident"
            )
            await ended(process)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "start.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    asyncio.run(main())

"""Starts and stops what is measured, and reads from `/proc` what it costs (Linux only).

Processor time is that of a process and all its descendants; it hardly depends on what else the machine does.
"""

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
"""What the last runs measured, one file each; not in the repository."""
TICK = 1 / os.sysconf("SC_CLK_TCK")
CORES = sorted(os.sched_getaffinity(0))
GATEWAY_CORE, LOAD_CORE = CORES[0], CORES[-1]
"""The gateway has a core to itself; load, mock models and stores share another."""


class NotMeasured(Exception):
    """Something cannot be measured on this machine; the text says why."""


def tree(pid: int) -> list[int]:
    """The process and all its descendants."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1])
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += [child for child, parent in parents.items() if parent == one]
    return found


def cpu_seconds(pid: int) -> tuple[float, float]:
    """(from each thread's schedstat, in ns steps; from stat, in ticks, with threads that have ended)."""
    fine = coarse = 0.0
    for one in tree(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            coarse += (int(fields[11]) + int(fields[12])) * TICK
            for task in os.listdir(f"/proc/{one}/task"):
                with contextlib.suppress(OSError):
                    fine += int(Path(f"/proc/{one}/task/{task}/schedstat").read_text().split()[0]) / 1e9
    return fine, coarse


def cpu_between(a: tuple[float, float], b: tuple[float, float]) -> float:
    fine, coarse = b[0] - a[0], b[1] - a[1]
    return coarse if coarse > fine * 1.03 + 0.03 else fine  # the ticks know about threads that ended


def resident_mb(pid: int) -> dict[str, float]:
    """Resident memory of each process of the tree, by its name; processes of one name are added up."""
    found: dict[str, float] = {}
    for one in tree(pid):
        with contextlib.suppress(OSError, TypeError):
            status = Path(f"/proc/{one}/status").read_text()
            name = status.split("\n", 1)[0].split(":", 1)[1].strip()
            kb = re.search(r"VmRSS:\s+(\d+)", status)
            found[name] = round(found.get(name, 0.0) + int(kb[1]) / 1024, 1)
    return found


def machine_busy() -> tuple[float, float]:
    """Seconds of processor time spent by anything on this machine, and stolen from it."""
    f = [int(x) * TICK for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return f[0] + f[1] + f[2] + f[5] + f[6], f[7]


def spawn(
    command: str | Sequence[str], core: int, env: Mapping[str, str] | None = None, log: Path | None = None
) -> "subprocess.Popen[bytes]":
    """Start `command` in bench/ on one core, in a session of its own."""
    out = open(log, "ab") if log else subprocess.DEVNULL
    return subprocess.Popen(
        shlex.split(command) if isinstance(command, str) else list(command),
        stdout=out,
        stderr=out,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(HERE.parent), **(env or {})},
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )


def stop(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(12)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_port(port: int, process: "subprocess.Popen[bytes]", seconds: float = 120) -> None:
    """Raises NotMeasured when nothing listens there in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise NotMeasured(f"process for port {port} ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise NotMeasured(f"nothing listens on {port} after {seconds:.0f} s")

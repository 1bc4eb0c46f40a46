"""Where a request's processor time goes, file by file: `python -m bench.hot_path [--seconds 15]`.

A router is started with a sampler inside: a timer of its own processor time interrupts it each millisecond and notes who
is running. What a library does is charged to the file of ours that called it; `(loop and server)` is what nobody of ours
called. Plain and structured requests and streams apart. Writes bench/results/profile.json; the functions go to the terminal.
"""

import argparse
import atexit
import json
import os
import runpy
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

from bench.loads import LOADS, Place, stream_load, whole
from bench.mocks import mock_models
from bench.processes import GATEWAY_CORE, RESULTS, spawn, stop, wait_port
from bench.settings_of import settings_file
from bench.subjects import OWN, Subject
from tests.support.valkey import free_port, start_valkey

EVERY_S = 0.001
ROOMS = ("base", "breaker", "detector", "fallback_phrases", "pointsman", "router", "store", "upstream")
RUNNERS = ("pointsman/__main__", "pointsman/cli/", "pointsman/serve.py")
"""They run the loop: what is under them alone is nobody's."""
NOBODY = "(loop and server)"


class Sampler:
    """Counts, by the innermost frame of ours. SIGUSR1: begin anew; SIGUSR2: write down and begin anew."""

    def __init__(self, out: Path) -> None:
        self._out, self._rounds = out, 0
        self._files: Counter[str] = Counter()
        self._functions: Counter[str] = Counter()

    def begin(self, *_: object) -> None:
        self._files.clear()
        self._functions.clear()

    def sample(self, _: int, frame: FrameType | None) -> None:
        while frame is not None:
            room, _, name = frame.f_globals.get("__name__", "").partition(".")
            if room in ROOMS:
                file = f"{room}/{name.replace('.', '/')}.py" if name else f"{room}/__init__.py"
                if not file.startswith(RUNNERS):
                    self._files[file] += 1
                    self._functions[f"{file}: {frame.f_code.co_qualname}"] += 1
                    return
            frame = frame.f_back
        self._files[NOBODY] += 1

    def write(self, *_: object) -> None:
        told = {"files": self._files.most_common(), "functions": self._functions.most_common(60)}
        part = self._out.with_suffix(".part")
        part.write_text(json.dumps({"samples": self._files.total(), **told}))
        self._rounds += 1
        part.rename(self._out.with_name(f"{self._out.stem}-{self._rounds}.json"))
        self.begin()


def sampled_router(out: Path) -> None:
    """In the router's process: start the sampler, then be `python -m pointsman serve ...`."""
    sampler = Sampler(out)
    signal.signal(signal.SIGPROF, sampler.sample)
    signal.signal(signal.SIGUSR1, sampler.begin)
    signal.signal(signal.SIGUSR2, sampler.write)
    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
    atexit.register(signal.setitimer, signal.ITIMER_PROF, 0)
    runpy.run_module("pointsman", run_name="__main__", alter_sys=True)


def measured(seconds: float) -> dict[str, Any]:
    with ExitStack() as stack:
        tmp = Path(tempfile.mkdtemp(prefix="bench-"))
        tmp.chmod(0o755)
        stack.callback(shutil.rmtree, tmp, ignore_errors=True)
        stack.enter_context(mock_models(tmp))
        valkey = stack.enter_context(start_valkey())
        subject = Subject(name="profile", loads=(), redis=OWN)
        file = settings_file(subject, tmp, port=(port := free_port()), redis_url=valkey.url, sql_url=None)
        out = tmp / "samples.json"
        command = [sys.executable, "-m", "bench.hot_path", "--inside", str(out), "serve", "--config", str(file)]
        router = spawn([*command, "--role", "router"], GATEWAY_CORE, {"POINTSMAN_LOG": "WARNING"}, tmp / "log")
        stack.callback(stop, router)
        wait_port(port, router)
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        place = Place(plain_url=url, asked_url=url, gateway=router.pid)
        LOADS["whole c32"].run(place)  # warm up
        kinds: dict[str, Any] = {}
        for at, (kind, load) in enumerate(
            {
                "plain requests, 32 connections": lambda: whole(place, 32, seconds),
                "structured requests, 32 connections": lambda: whole(place, 32, seconds, as_json=True),
                "streams of 64 events 5 ms apart, 16 at a time": lambda: stream_load(place, 16, 64, 5, seconds),
            }.items(),
            start=1,
        ):
            os.kill(router.pid, signal.SIGUSR1)
            load()
            os.kill(router.pid, signal.SIGUSR2)
            kinds[kind] = _told(tmp / f"samples-{at}.json")
        return {"kinds": kinds}


def _told(file: Path) -> dict[str, Any]:
    for _ in range(100):
        if file.exists():
            break
        time.sleep(0.1)
    found = json.loads(file.read_text())
    parts = {name: [(what, count / found["samples"]) for what, count in found[name]] for name in ("files", "functions")}
    return {"samples": found["samples"], **parts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=15.0, help="of each of the three loads")
    given = parser.parse_args()
    found = measured(given.seconds)
    for kind, told in found["kinds"].items():
        print(f"\n{kind}, {told['samples']:,} samples")
        for name, part in told["functions"][:40]:
            print(f"  {100 * part:5.1f} %  {name}")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "profile.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        place = Path(sys.argv[2])
        sys.argv[1:] = sys.argv[3:]
        sampled_router(place)
    else:
        main()

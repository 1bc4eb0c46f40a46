"""The demo says which port it took instead of a taken one."""

import socket
from types import SimpleNamespace
from typing import Any

from pointsman.demo import run
from pointsman.serve import Door, listen


def doors(*ports: int) -> Any:
    return SimpleNamespace(doors=[Door(app=None, socket=listen(("127.0.0.1", port)), what="") for port in ports])


def test_a_taken_port_is_named_with_the_one_taken_instead(monkeypatch: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        wanted = other.getsockname()[1]
        monkeypatch.setattr(run, "WANTED_PORTS", (wanted,))
        got = doors(run._free(wanted))
        port = got.doors[0].socket.getsockname()[1]
        assert run._moved(got) == [f"port {wanted} is taken by another program; using {port} instead"]
        got.doors[0].socket.close()


def test_a_free_port_is_taken_without_a_word(monkeypatch: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        wanted = other.getsockname()[1]
    monkeypatch.setattr(run, "WANTED_PORTS", (wanted,))
    got = doors(run._free(wanted))
    assert run._moved(got) == []
    got.doors[0].socket.close()

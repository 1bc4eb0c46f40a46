"""The demo says which port it took instead of a taken one."""

import socket
from typing import Any

from pointsman.demo import run


def test_a_taken_port_is_named_with_the_one_taken_instead(monkeypatch: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        wanted = other.getsockname()[1]
        monkeypatch.setattr(run, "WANTED_PORTS", (wanted,))
        with run._listening(wanted) as got:
            port = got.getsockname()[1]
            assert port != wanted
            assert run._moved([port]) == [f"port {wanted} is taken by another program; using {port} instead"]


def test_a_port_that_another_demo_took_in_the_same_moment_is_left_to_it() -> None:
    """It looked first and listened some seconds later: of two that began together one ended with an error."""
    with run._listening(0) as first, run._listening(first.getsockname()[1]) as second:
        assert second.getsockname() != first.getsockname()


def test_a_free_port_is_taken_without_a_word(monkeypatch: Any) -> None:
    with socket.socket() as kept:  # bound, so that nobody else is given it meanwhile
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        wanted = kept.getsockname()[1]
        monkeypatch.setattr(run, "WANTED_PORTS", (wanted,))
        with run._listening(wanted) as got:
            assert run._moved([got.getsockname()[1]]) == []

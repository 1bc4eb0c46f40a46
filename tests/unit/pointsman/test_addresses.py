"""Addresses that we listen on."""

import errno
import socket

import pytest

from pointsman.addresses import address_in, clash, found, is_open, parted, why_not
from pointsman.assemble import StartError
from pointsman.serve import CLIENTS, OPERATORS, Door, listen


@pytest.mark.parametrize("text", ["127.0.0.1:8080", "localhost:8080", "0.0.0.0:0", "[::1]:65535", "ops.internal:81"])
def test_addresses_and_names_are_taken(text: str) -> None:
    assert address_in(text) == text


@pytest.mark.parametrize("text", ["8080", ":8080", "*:8080", "::1:80", "http://localhost:80", "localhost", "a b:1", "localhost:PORT"])  # fmt: skip
def test_what_is_no_address_was_refused_by_a_pattern_that_nobody_can_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be an address and a port such as 127\.0\.0\.1:8080, localhost:8080"):
        address_in(text)


def test_a_port_has_an_end() -> None:
    with pytest.raises(ValueError, match=r"port must be 0\.\.65535"):
        address_in("localhost:65536")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("127.0.0.1:8080", "127.0.0.1:8080", True, id="the same"),
        pytest.param("0.0.0.0:8080", "127.0.0.1:8080", True, id="all addresses hold that one"),
        pytest.param("localhost:8080", "127.0.0.1:8080", True, id="another word for it"),
        pytest.param("127.0.0.1:8080", "10.0.0.1:8080", False, id="two addresses of one machine"),
        pytest.param("0.0.0.0:8080", "0.0.0.0:8081", False, id="two ports"),
        pytest.param("127.0.0.1:0", "127.0.0.1:0", False, id="any port"),
    ],
)
def test_two_doors_on_one_port_are_seen(one: str, other: str, expected: bool) -> None:
    assert clash(parted(one), parted(other)) is clash(parted(other), parted(one)) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("0.0.0.0", True),
        ("::", True),
        ("8.8.8.8", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("localhost", False),
    ],
)
def test_what_opens_a_machine_to_others_is_known(host: str, expected: bool) -> None:
    assert is_open(host) is expected


def test_a_name_is_listened_on_by_its_ipv4_address() -> None:
    assert found("localhost", 0)[0] is socket.AF_INET
    with listen(("localhost", 0)) as door:
        assert door.getsockname()[0] == "127.0.0.1"


def test_two_lines_of_the_start_said_the_same_of_two_doors() -> None:
    with listen(("127.0.0.1", 0)) as one, listen(("127.0.0.1", 0)) as other:
        doors = [Door(app=None, socket=one, what=CLIENTS), Door(app=None, socket=other, what=OPERATORS)]
        told = [door.told for door in doors]
        assert told == [
            f"pointsman: apps' API (/v1) listening on {doors[0].url}",
            f"pointsman: operators' pages and /admin listening on {doors[1].url}",
        ]


def test_why_an_address_cannot_be_had_is_told_with_what_to_do() -> None:
    with listen(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            StartError, match=f"cannot listen on 127.0.0.1:{port}: another program listens there: end it"
        ):
            listen(("127.0.0.1", port))
    with pytest.raises(StartError, match=r"192\.0\.2\.1:0: this machine has no such address: name one of its own"):
        listen(("192.0.2.1", 0))
    with pytest.raises(StartError, match=r"no\.\.body:0: no such host: name an address of this machine"):
        listen(("no..body", 0))
    assert "below 1024" in why_not(OSError(errno.EACCES, "Permission denied"))

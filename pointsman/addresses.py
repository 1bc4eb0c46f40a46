"""The addresses that we listen on: well formed, told apart, found on this machine.

In:  `HOST:PORT`, the host a name, an IPv4 address or an IPv6 address in brackets.  Asks the resolver in `found` alone.
"""

import errno
import ipaddress
import re
import socket
from typing import Any

ALL = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on
FORM = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]/*]+):(\d{1,5})")
MOST_PORT = 65_535
WHY = {
    errno.EADDRINUSE: "another program listens there: end it, or name another port",
    errno.EADDRNOTAVAIL: "this machine has no such address: name one of its own, or 0.0.0.0 for all of them",
    errno.EACCES: "this user may not open a port below 1024: name a higher one",
}

Found = tuple[socket.AddressFamily, Any]
"""The family, and what `bind` takes of it."""


def address_in(text: str) -> str:
    """Raises ValueError, in words to be put after the field's name."""
    match = FORM.fullmatch(text)
    if match is None:
        raise ValueError("must be an address and a port such as 127.0.0.1:8080, localhost:8080 or 0.0.0.0:8080 (all)")
    if int(match[2]) > MOST_PORT:
        raise ValueError(f"port must be 0..{MOST_PORT}")
    return text


def parted(address: str) -> tuple[str, int]:
    """Host, without brackets, and port."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def clash(one: tuple[str, int], other: tuple[str, int]) -> bool:
    """Whether both cannot be listened on at once. Port 0 is any that is free."""
    hosts = {_plain(one[0]), _plain(other[0])}
    return one[1] == other[1] != 0 and (len(hosts) == 1 or bool(hosts & ALL))


def _plain(host: str) -> str:
    return "127.0.0.1" if host.lower() == "localhost" else host.lower()


def is_open(host: str) -> bool:
    """Whether machines outside reach it: all addresses of this machine, or one of the internet. Names are not looked up."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_unspecified or address.is_global


def found(host: str, port: int) -> Found:
    """What to bind: IPv4 where a name has both, since that is what people write. Raises OSError for a name that nobody knows."""
    try:
        known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except UnicodeError:  # no name at all: an empty label, or one of more than 63 characters
        raise socket.gaierror(socket.EAI_NONAME, "no name of a host") from None
    family, _, _, _, bound = min(known, key=lambda one: one[0] != socket.AF_INET)
    return family, bound


def why_not(error: OSError) -> str:
    """Why it cannot be listened on, and what to do."""
    if isinstance(error, socket.gaierror):
        return "no such host: name an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"
    return WHY.get(error.errno or 0) or str(error.strerror or error)

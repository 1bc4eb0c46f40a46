"""Upstreams behind a proxy: which are asked through it, and the way there.

What goes direct keeps our own transport. Through the proxy httpx's pool speaks (CONNECT for https, absolute targets for
http), which costs milliseconds of processor time a call: little beside a vendor's seconds.
"""

import ipaddress
import ssl
from collections.abc import Sequence

import httpx

from upstream.peer import Address, Peer, Reply, StockPeer
from upstream.transport import IDLE_S, MAX_IDLE_PER_HOST, FastTransport


def goes_direct(host: str, no_proxy: Sequence[str]) -> bool:
    """Whether `host` is one of `no_proxy`: names, `.suffixes`, addresses, networks as `10.0.0.0/8`, or `*` for all."""
    name = host.lower().rstrip(".")
    address = _address(name)
    for entry in (one.strip().lower() for one in no_proxy):
        if entry == "*":
            return True
        if address is not None:
            network = _network(entry)
            if network is not None and address in network:
                return True
        elif name == entry.lstrip(".") or (entry.startswith(".") and name.endswith(entry)):
            return True
    return False


class ProxiedPeer:
    """One per process; `aclose` it. `verify`: whom we trust, of vendors and of an https proxy."""

    def __init__(self, proxy: str, no_proxy: Sequence[str], verify: ssl.SSLContext) -> None:
        self._no_proxy = tuple(no_proxy)
        self._direct = FastTransport(verify=verify)
        self._pool = httpx.AsyncHTTPTransport(
            proxy=httpx.Proxy(proxy, ssl_context=verify if proxy.startswith("https:") else None),
            verify=verify,
            trust_env=False,
            limits=httpx.Limits(
                max_connections=None, max_keepalive_connections=MAX_IDLE_PER_HOST, keepalive_expiry=IDLE_S
            ),
        )
        self._proxied = StockPeer(self._pool)
        self._ways: dict[str, Peer] = {}

    async def post(self, address: Address, content: bytes, connect_s: float) -> Reply:
        host = address.peer[1]
        way = self._ways.get(host)
        if way is None:
            # Endpoints are few and come from the settings, so this stays small.
            way = self._ways[host] = self._direct if goes_direct(host, self._no_proxy) else self._proxied
        return await way.post(address, content, connect_s)

    async def aclose(self) -> None:
        await self._direct.aclose()
        await self._pool.aclose()


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return None


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return None


_peer: type[Peer] = ProxiedPeer

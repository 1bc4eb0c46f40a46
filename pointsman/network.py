"""The way out, to vendors and to the identity provider: straight or through a proxy, trusting a CA of the company's own beside the machine's."""

import ssl
from pathlib import Path
from typing import Annotated, Self

import httpx
from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from upstream.proxied import ProxiedPeer, goes_direct
from upstream.transport import FastTransport


class NetworkSettings(BaseModel):
    """Taken at the start. The environment's HTTPS_PROXY and its kin are not obeyed: what is written here is what is done."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    proxy: SecretStr | None = None
    """`http://user:password@host:port`; None: vendors are asked directly."""
    no_proxy: Annotated[list[str], Field(max_length=1_000)] = ["localhost", "127.0.0.0/8", "::1"]
    """Asked directly all the same: names, `.suffixes`, addresses, networks as `10.0.0.0/8`."""
    ca_file: Path | None = None
    """PEM certificates trusted beside the machine's own, for a proxy that opens TLS or a gateway of the company's."""

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if self.proxy is not None:
            try:
                url = httpx.URL(self.proxy.get_secret_value())
            except httpx.InvalidURL:
                url = httpx.URL("")
            if url.scheme not in ("http", "https") or not url.host:
                raise ValueError("proxy must be http://HOST:PORT or https://HOST:PORT, with user:password@ if needed")
        if self.ca_file is not None:
            try:
                trusted(self.ca_file)
            except (OSError, ssl.SSLError) as error:
                raise ValueError(f"ca_file cannot be used: {error}") from None
        return self


def trusted(ca_file: Path | None) -> ssl.SSLContext:
    """Whom we trust. Raises OSError, ssl.SSLError for a file that is none of certificates."""
    context = httpx.create_ssl_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


class Way(httpx.AsyncBaseTransport):
    """For what is asked rarely and by httpx: straight, or through the proxy, by host."""

    def __init__(self, network: NetworkSettings) -> None:
        verify = trusted(network.ca_file)
        self._no_proxy = tuple(network.no_proxy)
        self._direct = httpx.AsyncHTTPTransport(verify=verify, trust_env=False)
        self._proxied: httpx.AsyncHTTPTransport | None = None
        if network.proxy is not None:
            url = network.proxy.get_secret_value()
            proxy = httpx.Proxy(url, ssl_context=verify if url.startswith("https:") else None)
            self._proxied = httpx.AsyncHTTPTransport(proxy=proxy, verify=verify, trust_env=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._proxied is None or goes_direct(request.url.host, self._no_proxy):
            return await self._direct.handle_async_request(request)
        return await self._proxied.handle_async_request(request)

    async def aclose(self) -> None:
        await self._direct.aclose()
        if self._proxied is not None:
            await self._proxied.aclose()


def way_to_vendors(network: NetworkSettings) -> FastTransport | ProxiedPeer:
    """What upstreams are asked through; whoever takes it closes it."""
    verify = trusted(network.ca_file) if network.proxy is not None or network.ca_file is not None else None
    if network.proxy is None:
        return FastTransport(verify=verify)
    assert verify is not None
    return ProxiedPeer(network.proxy.get_secret_value(), network.no_proxy, verify)

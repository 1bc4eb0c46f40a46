"""The way to the vendors, as the settings say it."""

from pathlib import Path

import httpcore
import httpx
import pytest
from pydantic import ValidationError

from pointsman.network import NetworkSettings, Way, way_to_vendors
from upstream.proxied import ProxiedPeer
from upstream.transport import FastTransport


@pytest.mark.parametrize("proxy", ["proxy:3128", "socks5://proxy:1080", "http://", "http://proxy:port"])
def test_a_proxy_that_is_no_http_url_is_refused(proxy: str) -> None:
    with pytest.raises(ValidationError, match="proxy must be"):
        NetworkSettings(proxy=proxy)  # type: ignore[arg-type]


def test_a_ca_file_that_is_missing_or_no_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pem").write_text("nonsense")
    for name in ("none.pem", "x.pem"):
        with pytest.raises(ValidationError, match="ca_file cannot be used"):
            NetworkSettings(ca_file=tmp_path / name)


async def test_without_a_proxy_our_own_transport_is_used() -> None:
    way = way_to_vendors(NetworkSettings())
    assert isinstance(way, FastTransport)
    await way.aclose()
    proxied = way_to_vendors(NetworkSettings(proxy="http://user:secret@proxy:3128"))  # type: ignore[arg-type]
    assert isinstance(proxied, ProxiedPeer)
    await proxied.aclose()


def test_a_proxys_password_is_not_shown() -> None:
    assert "secret" not in repr(NetworkSettings(proxy="http://user:secret@proxy:3128"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("host", "through"), [("login.example", True), ("inner.corp", False)])
async def test_the_identity_provider_is_asked_through_the_proxy_unless_listed(
    host: str, through: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[bool, str]] = []

    async def told(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        asked.append((isinstance(transport._pool, httpcore.AsyncHTTPProxy), request.url.host))
        return httpx.Response(200, json={})

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", told)
    network = NetworkSettings(proxy="http://proxy:3128", no_proxy=[".corp"])  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=Way(network)) as client:
        await client.get(f"https://{host}/.well-known/openid-configuration")
    assert asked == [(through, host)]

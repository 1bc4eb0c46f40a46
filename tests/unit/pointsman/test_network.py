"""The way to the vendors, as the settings say it."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from pointsman.network import NetworkSettings, way_to_vendors
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

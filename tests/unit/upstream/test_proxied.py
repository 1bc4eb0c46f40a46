"""Which hosts are asked without the proxy."""

import pytest

from upstream.proxied import goes_direct


@pytest.mark.parametrize(
    ("host", "no_proxy", "direct"),
    [
        ("api.vendor.com", [], False),
        ("localhost", ["localhost"], True),
        ("LocalHost", ["localhost"], True),
        ("api.corp.cn", [".corp.cn"], True),
        ("corp.cn", [".corp.cn"], True),
        ("evilcorp.cn", [".corp.cn"], False),
        ("api.corp.cn", ["corp.cn"], False),
        ("10.1.2.3", ["10.0.0.0/8"], True),
        ("11.1.2.3", ["10.0.0.0/8"], False),
        ("10.1.2.3", ["10.1.2.3"], True),
        ("::1", ["::1"], True),
        ("fd00::5", ["fd00::/8"], True),
        ("api.vendor.com", ["*"], True),
        ("api.vendor.com", ["", "nonsense/99"], False),
    ],
)
def test_a_host_goes_direct_if_it_is_listed(host: str, no_proxy: list[str], direct: bool) -> None:
    assert goes_direct(host, no_proxy) is direct

"""Robots are reached the way the settings say, whatever the environment says."""

import pytest
from pydantic import SecretStr

from pointsman.network import NetworkSettings
from pointsman.telling import alert_client
from tests.support.proxy import ForwardProxy
from tests.support.scripted import ScriptedUpstream

DEAD = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _misleading(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, DEAD)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


async def test_a_robot_is_asked_through_the_proxy_of_the_settings() -> None:
    async with ScriptedUpstream() as robot, ForwardProxy({"robot.test": ("127.0.0.1", robot.port)}) as proxy:
        network = NetworkSettings(proxy=SecretStr(f"http://{proxy.address}"))
        async with alert_client(network) as client:
            answer = await client.post("http://robot.test/v1/chat/completions", json={"model": "healthy"})
        assert answer.status_code < 500
        assert proxy.seen == ["POST http://robot.test/v1/chat/completions HTTP/1.1"]


async def test_without_one_a_robot_is_asked_directly_though_the_environment_names_a_proxy() -> None:
    async with ScriptedUpstream() as robot, alert_client(NetworkSettings()) as client:
        answer = await client.post(f"{robot.base_url}/chat/completions", json={"model": "healthy"})
        assert answer.status_code < 500

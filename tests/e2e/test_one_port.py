"""The operators' pages on the clients' address: below their own path where asked for, and nowhere else."""

from pathlib import Path

import httpx
import pytest

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.service import running, settings_file

ENV = {"POINTSMAN_ADMIN_TOKEN": "pma-one-port"}


@pytest.mark.timeout(180)
async def test_the_console_answers_on_the_clients_port_only_below_its_prefix(tmp_path: Path) -> None:
    async with ScriptedUpstream() as upstream, httpx.AsyncClient(timeout=30) as client:
        file = settings_file(tmp_path, upstream.base_url, console={"on_data_port": True, "prefix": "/ops"})
        async with running(file, env=ENV) as service:
            login = await client.get(f"{service.url}/ops/login", headers={"accept": "text/html"})
            assert login.status_code == 200 and "content-security-policy" in login.headers
            assert 'action="/ops/login"' in login.text
            token = {"authorization": f"Bearer {ENV['POINTSMAN_ADMIN_TOKEN']}"}
            assert (await client.get(f"{service.url}/ops/admin/models", headers=token)).status_code == 200
            assert (await client.get(f"{service.url}/ops/admin/models")).status_code == 401
            body = {"model": "chat", "messages": [{"role": "user", "content": "hello"}]}
            assert (await client.post(f"{service.url}/v1/chat/completions", json=body)).status_code == 200
            for path in ("/", "/login", "/admin/models", "/static/console.css"):
                answer = await client.get(f"{service.url}{path}", headers=token)
                assert answer.status_code == 404 and answer.json()["error"]["code"] == "not_found", path


@pytest.mark.timeout(180)
async def test_by_itself_nothing_of_the_console_is_on_the_clients_port(tmp_path: Path) -> None:
    async with ScriptedUpstream() as upstream, httpx.AsyncClient(timeout=30) as client:
        file = settings_file(tmp_path, upstream.base_url, console={"prefix": "/ops"})
        async with running(file, env=ENV) as service:
            for path in ("/", "/ops", "/ops/login", "/login", "/ops/admin/models", "/ops/static/console.css"):
                assert (await client.get(f"{service.url}{path}")).status_code == 404, path
            assert (await client.get(f"{service.urls[1]}/ops/login")).status_code == 200

"""New settings without a restart, over a router and a monitor: taken everywhere, or nowhere with the reason told."""

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from pointsman.demo.scripted import ScriptedUpstream
from tests.e2e.test_fleet import until
from tests.support.service import running, settings_file
from tests.support.valkey import start_valkey

ENV = {"POINTSMAN_ADMIN_TOKEN": "pma-test"}


def change(file: Path, **more: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **more}), encoding="utf-8")


@pytest.mark.timeout(240)
async def test_a_new_route_is_served_everywhere_after_one_call_and_a_bad_file_changes_nothing(tmp_path: Path) -> None:
    with start_valkey() as valkey:
        async with ScriptedUpstream(delay_s=0.05) as upstream, httpx.AsyncClient(timeout=30) as client:
            file = settings_file(tmp_path, upstream.base_url, redis_url=valkey.url)
            async with running(file, "router", ENV) as router, running(file, "monitor", ENV) as monitor:
                client.headers["authorization"] = f"Bearer {ENV['POINTSMAN_ADMIN_TOKEN']}"

                async def routes() -> list[str]:
                    listed = (await client.get(f"{router.url}/v1/models")).json()["data"]
                    return [route["id"] for route in listed]

                async def reload(status: int) -> dict[str, Any]:
                    answer = await client.post(f"{monitor.url}/admin/reload", json={"reason": "test"})
                    assert answer.status_code == status, answer.text
                    told: dict[str, Any] = answer.json()
                    return told

                async def config() -> dict[str, Any]:
                    told: dict[str, Any] = (await client.get(f"{monitor.url}/admin/config")).json()
                    return told

                before = await config()
                kept = json.loads(file.read_text())
                extra = {"new": {"candidates": [{"model": "c"}]}}
                models = {**kept["models"], "c": kept["models"]["a"]}
                change(file, models=models, routes={**kept["routes"], **extra}, drain_s=7)
                # A stream that began before ends as it began, though its route and models are swapped under it.
                body = {"model": "chat", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
                async with client.stream("POST", f"{router.url}/v1/chat/completions", json=body) as answer:
                    lines = answer.aiter_lines()
                    await anext(lines)
                    came = await reload(200)
                    assert "data: [DONE]" in [line async for line in lines]
                assert sorted(came["changed"]) == ["models", "routes"]
                assert came["restart_needed"] == ["drain_s"]
                assert came["hash"] != before["hash"]

                async def everywhere() -> bool:
                    told = await config()
                    hashes = {process["hash"] for process in told["processes"]}
                    return hashes == {came["hash"]} and len(told["processes"]) == 2

                await until(everywhere, 15)
                assert "new" in await routes()
                ask = {"model": "new", "messages": [{"role": "user", "content": "hello"}]}
                assert (await client.post(f"{router.url}/v1/chat/completions", json=ask)).status_code == 200
                assert 'pointsman_model_severity{model="c"}' in (await client.get(f"{router.url}/metrics")).text
                assert "c" in [m["model"] for m in (await client.get(f"{monitor.url}/admin/models")).json()["models"]]

                change(file, routes={"new": {"candidates": [{"model": "nobody"}]}}, colour="red")
                told = (await reload(422))["error"]["message"]
                assert "nobody" in told and "colour" in told
                router.process.send_signal(signal.SIGHUP)

                async def complained() -> bool:
                    said = {p["role"]: p for p in (await config())["processes"]}
                    return bool(said["router"]["mistakes"]) and said["router"]["hash"] == came["hash"]

                await until(complained, 15)
                assert "chat" in await routes()

                change(file, routes=kept["routes"], models=kept["models"], colour=None)
                file.write_text(json.dumps({k: v for k, v in json.loads(file.read_text()).items() if k != "colour"}))
                router.process.send_signal(signal.SIGHUP)

                async def gone() -> bool:
                    return "new" not in await routes()

                await until(gone, 15)
                assert 'model="c"' not in (await client.get(f"{router.url}/metrics")).text.split("model_severity", 1)[1]

"""A vendor that is reached only through the company's proxy and shows a certificate of the company's own CA."""

import asyncio
import json
import shutil
import ssl
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.proxy import ForwardProxy
from tests.support.service import running, settings_file

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")


def certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    key, made = folder / "key.pem", folder / "ca.pem"
    line = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {made} -days 2"
    names = ["-subj", "/CN=vendor.test", "-addext", "subjectAltName=DNS:vendor.test"]
    subprocess.run([*line.split(), *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return made, context


def logged(folder: Path) -> str:
    return "".join(log.read_text() for log in folder.glob("*.log"))


async def tls_before(upstream: ScriptedUpstream, context: ssl.SSLContext) -> asyncio.Server:
    """A TLS door in front of the plain upstream."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", upstream.port)

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65_536):
                sink.write(data)
            sink.close()

        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer), return_exceptions=True)

    return await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)


@pytest.mark.timeout(180)
async def test_https_and_http_go_through_the_proxy_and_its_ca_and_listed_hosts_go_direct(tmp_path: Path) -> None:
    ca, context = certificate(tmp_path)
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(ScriptedUpstream())
        door = await tls_before(upstream, context)
        stack.callback(door.close)
        names = {"vendor.test": door.sockets[0].getsockname()[:2], "plain.test": ("127.0.0.1", upstream.port)}
        proxy = await stack.enter_async_context(ForwardProxy(names, login="user:pass word"))
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=30))

        def model(url: str) -> dict[str, object]:
            return {"endpoints": [{"base_url": url, "model": "a"}]}

        models = {
            "tls": model("https://vendor.test/v1"),
            "plain": model("http://plain.test/v1"),
            "direct": model(upstream.base_url),
        }
        routes = {name: {"candidates": [{"model": name}], "when_down": "error", "phrases": False} for name in models}
        network = {"proxy": f"http://user:pass%20word@{proxy.address}", "ca_file": str(ca)}
        file = settings_file(tmp_path, upstream.base_url, models=models, routes=routes, network=network)
        service = await stack.enter_async_context(running(file, "router"))

        async def ask(route: str, *, stream: bool = False) -> str:
            body = {"model": route, "stream": stream, "messages": [{"role": "user", "content": "hello"}]}
            answer = await client.post(f"{service.url}/v1/chat/completions", json=body)
            assert answer.status_code == 200, answer.text
            return answer.text

        assert json.loads(await ask("tls"))["choices"]
        assert "data: [DONE]" in await ask("tls", stream=True)
        assert {line.split()[0] for line in proxy.seen} == {"CONNECT"}
        assert proxy.seen[0].startswith("CONNECT vendor.test:443 ")
        await ask("plain")
        assert proxy.seen[-1].startswith("POST http://plain.test/v1/chat/completions ")
        before = len(proxy.seen)
        await ask("direct")
        assert len(proxy.seen) == before
    assert "pass" not in logged(tmp_path)

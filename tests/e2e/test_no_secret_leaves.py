"""Planted secrets are looked for in every sink: logs, output, answers, metrics, admin pages, SQL, Valkey and files.

Everything that handles a secret is made to fail while it holds one: a model that echoes the key it was sent, robots that
cannot be reached, refused callers, a broken settings file.
"""

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from redis import Redis

from tests.support.service import running, settings_file
from tests.support.valkey import free_port, start_valkey

PLANTED = {
    "upstream key": "sk-planted-upstream-4f1c9a7d20b3",
    "spare key": "sk-planted-spare-88a1c3e09d7f",
    "robot key": "planted-robot-key-2c7be9014a",
    "robot secret": "SECplantedrobot5d9e0f3a71",
    "admin token": "pma-planted-admin-6b20e8d4c1",
    "redis password": "planted-redis-pass-a90d3e",
    "body key": "sk-planted-in-a-reply-77fe01b2c9d4",
}


@contextlib.asynccontextmanager
async def echoing_model() -> AsyncIterator[str]:
    """A model whose failures quote all it was sent, the key included, as some vendors' do."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = int(head.lower().partition("content-length:")[2].partition("\r\n")[0])
                await reader.readexactly(length)
                told = f"Incorrect API key provided: {head} and {PLANTED['body key']} " + "you! " * 200
                said = f"My key is {PLANTED['body key']}. " + "you! " * 200
                loop = {"choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]}
                failure = {"error": {"message": told, "type": "server_error", "code": "internal"}}
                spare = PLANTED["spare key"] in head
                data = json.dumps(loop if spare else failure).encode()
                status = "200 OK" if spare else "500 Internal Server Error"
                head_ = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
                writer.write(head_.encode() + data)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def found_in(sinks: dict[str, bytes], allowed: frozenset[tuple[str, str]] = frozenset()) -> list[str]:
    return [
        f"{name} in {place}"
        for place, content in sinks.items()
        for name, secret in PLANTED.items()
        if secret.encode() in content and (name, place) not in allowed
    ]


def sql_text(file: Path) -> bytes:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return "\n".join(connection.iterdump()).encode()


def redis_text(url: str) -> bytes:
    out: list[bytes] = []
    with Redis.from_url(url) as redis:
        for key in redis.scan_iter():
            out += [key, redis.dump(key) or b""]
            if redis.type(key) == b"hash":
                out += [part for pair in redis.hgetall(key).items() for part in pair]
            elif redis.type(key) == b"string":
                out.append(redis.get(key) or b"")
    return b"\n".join(out)


def files_below(folder: Path, but: Path) -> dict[str, bytes]:
    """What every file holds, but `but` and the database, which is read as SQL."""
    files = (path for path in folder.rglob("*") if path.is_file() and path != but)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if ".db" not in path.suffix}


@pytest.mark.timeout(180)
async def test_no_sink_holds_a_planted_secret(tmp_path: Path) -> None:
    with start_valkey() as valkey:
        async with echoing_model() as base_url:
            password = PLANTED["redis password"]
            with Redis.from_url(valkey.url) as redis:
                redis.config_set("requirepass", password)
            url = f"redis://:{password}@127.0.0.1:{valkey.port}/0"
            endpoints = [
                {"base_url": base_url, "model": "m", "api_key": PLANTED["upstream key"]},
                {"base_url": base_url, "model": "m", "api_key": PLANTED["spare key"]},
            ]
            dead = f"http://127.0.0.1:{free_port()}"
            robots = {
                "wecom": {"kind": "wecom", "url": f"{dead}/send?key={PLANTED['robot key']}"},
                "ding": {"kind": "dingtalk", "url": f"{dead}/send?access_token={PLANTED['robot key']}",
                         "secret": PLANTED["robot secret"]},
            }  # fmt: skip
            file = settings_file(
                tmp_path,
                base_url,
                models={"a": {"endpoints": endpoints}},
                routes={"chat": {"candidates": [{"model": "a"}]}},
                redis_url=url,
                alerts={"channels": robots},
                time_scale=20,  # a robot is given up after 40 s
            )
            env = {"POINTSMAN_ADMIN_TOKEN": PLANTED["admin token"]}
            sinks: dict[str, bytes] = {}
            async with running(file, env=env) as service, httpx.AsyncClient(timeout=30) as client:
                chat = {"model": "chat", "messages": [{"role": "user", "content": "hello"}]}
                for index in range(12):
                    answer = await client.post(
                        f"{service.url}/v1/chat/completions", json={**chat, "stream": index % 2 == 1}
                    )
                    sinks[f"answer {index}"] = answer.content + repr(answer.headers).encode()
                refused = {"authorization": f"Bearer {PLANTED['upstream key']}", "x-pointsman-fallback": "none"}
                for path, body in (("chat/completions", chat), ("nowhere", {}), ("feedback", {"kind": 7})):
                    answer = await client.post(f"{service.url}/v1/{path}", json=body, headers=refused)
                    sinks[f"answer of {path}"] = answer.content + repr(answer.headers).encode()
                sinks["metrics"] = (await client.get(f"{service.url}/metrics")).content
                admin = {"authorization": f"Bearer {PLANTED['admin token']}"}
                # A forced move owes both robots a message that neither takes.
                forced = {"mode": "open", "reason": "planted", "minutes": 5}
                told = await client.post(f"{service.urls[1]}/admin/models/a/force", json=forced, headers=admin)
                sinks["force"] = told.content
                for path in ("models", "models/a", "transitions", "requests", "config", "alerts", "keys", "audit"):
                    answer = await client.get(f"{service.urls[1]}/admin/{path}", headers=admin)
                    sinks[f"admin {path}"] = answer.content + repr(answer.headers).encode()
                wrong = {"authorization": f"Bearer {PLANTED['admin token']}x"}
                sinks["wrong token"] = (await client.get(f"{service.urls[1]}/admin/models", headers=wrong)).content
                await asyncio.sleep(5)  # until the sender gives up
                sinks["valkey"] = redis_text(url)
            sinks["sql"] = sql_text(tmp_path / "var" / "pointsman.db")
            sinks.update(files_below(tmp_path, file))
            assert sinks["sql"].count(b"INSERT") > 10
            assert any(place.endswith(".log") and content for place, content in sinks.items())
            # What a model says is its client's to see; nobody else's.
            said = frozenset(("body key", place) for place in sinks if place.startswith("answer "))
            assert not found_in(sinks, said)


def test_a_broken_settings_file_is_told_without_its_secrets(tmp_path: Path) -> None:
    file = settings_file(tmp_path, "http://127.0.0.1:9/v1", redis_url=f"redis://:{PLANTED['redis password']}@[bad/0")
    file.write_text(
        file.read_text().replace(
            '"model": "a"}', f'"model": "a", "api_key": {{"x": "{PLANTED["upstream key"]}"}}, "extra_bdy": 1}}'
        )
    )
    told = subprocess.run(
        [sys.executable, "-m", "pointsman", "check", str(file)],
        capture_output=True,
        env={**os.environ, "POINTSMAN_ADMIN_TOKEN": PLANTED["admin token"]},
        check=False,
    )
    assert told.returncode != 0
    assert not found_in({"stdout": told.stdout, "stderr": told.stderr})


def test_the_search_itself_finds_what_is_there() -> None:
    assert found_in({"log": f"x{PLANTED['spare key']}y".encode()}) == ["spare key in log"]

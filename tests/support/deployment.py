"""A whole deployment of real processes that a test may kill and freeze: upstreams, Valkey, PostgreSQL, routers, monitor."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import text

from store.sql_link import open_engine
from tests.support.postgres_process import PostgresProcess
from tests.support.robots import Robots
from tests.support.service import settings_file
from tests.support.valkey import Valkey, free_port

UP_S = 180.0
"""A machine that tests other things beside us starts nine processes slowly."""


class UpstreamProcess:
    """The scripted upstream as a process of its own: `kill`, `start` on the same port, `freeze`, `thaw`."""

    def __init__(self) -> None:
        self.port = free_port()
        self.process: asyncio.subprocess.Process | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pointsman.demo.scripted", "--port", str(self.port), "--delay-s", "0.002"),
            stdout=asyncio.subprocess.PIPE,
        )
        assert self.process.stdout is not None
        assert await asyncio.wait_for(self.process.stdout.readline(), UP_S)

    def behave(self, model: str, behaviour: str, share: float) -> None:
        body = json.dumps({"model": model, "behaviour": behaviour, "share": share}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/script", data=body, method="POST")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(request, timeout=2).read()

    async def kill(self) -> None:
        await end(self.process)

    def freeze(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


async def end(process: asyncio.subprocess.Process | None) -> None:
    """`kill -9`, also of one that is frozen, and wait."""
    if process is not None and process.returncode is None:
        process.kill()
        await process.wait()


@dataclass(slots=True, kw_only=True)
class Member:
    """One pointsman process in one place of the deployment. `born` counts its lives, `killed` the violent deaths."""

    role: str
    file: Path
    listen: str
    process: asyncio.subprocess.Process | None = None
    url: str = ""
    born: int = 0
    killed: int = 0
    up: bool = False
    frozen: bool = False
    log: Path = field(default_factory=Path)

    async def start(self) -> None:
        self.born += 1
        self.log = self.file.with_suffix(f".{self.role}.{os.urandom(2).hex()}.log")
        with self.log.open("wb") as errors:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "pointsman", "serve", "--config", str(self.file), "--role", self.role),
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "POINTSMAN_ADMIN_TOKEN": "pma-test"},
            )
        assert self.process.stdout is not None
        while True:
            line = (await asyncio.wait_for(self.process.stdout.readline(), UP_S)).decode()
            assert line, f"{self.role} ended before it listened: {self.log.read_text()[-2000:]}"
            if "listening on" in line:
                self.url, self.up = line.split()[-1], True
                return

    async def kill(self) -> None:
        self.killed, self.up = self.killed + 1, False
        await end(self.process)

    def freeze(self) -> None:
        assert self.process is not None
        self.frozen = True
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.frozen = False
        self.process.send_signal(signal.SIGCONT)

    async def stop(self) -> int:
        """SIGTERM and drain; the exit code."""
        assert self.process is not None
        self.up = False
        if self.process.returncode is None:
            self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), 60)


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """Two vendors with one model each, one Valkey, one PostgreSQL, `routers`, one monitor, one robot."""

    upstreams: dict[str, UpstreamProcess]
    valkey: Valkey
    postgres: PostgresProcess
    routers: list[Member]
    monitor: Member
    robot: Robots

    @property
    def members(self) -> list[Member]:
        return [*self.routers, self.monitor]


@contextlib.asynccontextmanager
async def deployed(
    folder: Path, routers: int = 3, *, redis_url: str = "", **settings: Any
) -> AsyncIterator[Deployment]:
    """The deployment, all of it up; `redis_url` puts another store in the Valkey's place.

    Raises tests.support.postgres.NotHere where there is no PostgreSQL.
    """
    async with AsyncExitStack() as stack:
        postgres = PostgresProcess()
        stack.callback(postgres.close)
        valkey = Valkey(free_port())
        valkey.start()
        stack.callback(valkey.stop)
        upstreams = {name: UpstreamProcess() for name in ("a", "b")}
        for upstream in upstreams.values():
            await upstream.start()
            stack.push_async_callback(upstream.kill)
        robot = await stack.enter_async_context(Robots())
        common = {
            "redis_url": redis_url or valkey.url,
            "sql_url": postgres.url,
            "alerts": {"channels": {"on-call": {"kind": "wecom", "url": robot.url("wecom")}}},
            **settings,
        }
        members = [_member(folder, index, upstreams, common) for index in range(routers + 1)]
        for member in members:
            stack.push_async_callback(_end_member, member)
        await members[0].start()  # migrates alone, so that a slow machine starts the others at once
        await asyncio.gather(*(member.start() for member in members[1:]))
        yield Deployment(
            upstreams=upstreams,
            valkey=valkey,
            postgres=postgres,
            routers=members[1:],
            monitor=members[0],
            robot=robot,
        )


async def _end_member(member: Member) -> None:
    await end(member.process)


def _member(folder: Path, index: int, upstreams: dict[str, UpstreamProcess], common: dict[str, Any]) -> Member:
    role = "router" if index else "monitor"
    here = folder / f"{role}-{index}"
    here.mkdir()
    listen = f"127.0.0.1:{free_port()}"
    models = {
        name: {"vendor": name, "endpoints": [{"base_url": upstream.base_url, "model": name}]}
        for name, upstream in upstreams.items()
    }
    return Member(role=role, file=settings_file(here, "", models=models, listen=listen, **common), listen=listen)


async def rows(url: str, query: str) -> list[tuple[object, ...]]:
    """What `query` finds in the database at `url`."""
    engine = open_engine(url)
    try:
        async with engine.connect() as connection:
            return [tuple(row) for row in (await connection.execute(text(query))).all()]
    finally:
        await engine.dispose()

"""Sets a subject up: mock models, stores, the gateway; sees that it answers; does what happens to it between two phases."""

import asyncio
import json
import re
import shutil
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from subprocess import Popen
from typing import Any

from base.clock import SystemClock
from base.switch import FLEET, Switch, SwitchMode
from bench.get_peers import FOLDER, version_of
from bench.loads import LOADS, Place, body_of, structured
from bench.mocks import ASKED_PORTS, PLAIN_PORTS, mock_models
from bench.processes import GATEWAY_CORE, HERE, NotMeasured, resident_mb, spawn, stop, wait_port
from bench.settings_of import settings_file
from bench.subjects import AS_SET_UP, OWN, POSTGRES, Act, Subject
from store.redis_link import RedisLink, connect
from store.redis_switches import RedisSwitches
from tests.support.postgres import NotHere, Postgres
from tests.support.valkey import Valkey, free_port, start_valkey

SETTLE_S = 6.0
"""After an act: the router has noticed (a question to a store waits 4 s at most, a switch is read every second)."""
ANSWER_TRIES = 60
DIRECT = Place(
    plain_url=f"http://127.0.0.1:{PLAIN_PORTS[0]}/v1/chat/completions",
    asked_url=f"http://127.0.0.1:{ASKED_PORTS[0]}/v1/chat/completions",
)


@dataclass(slots=True)
class Stage:
    """A subject that answers, and the stores beside it."""

    subject: Subject
    place: Place
    version: str
    note: str
    valkey: Valkey | None = None
    postgres: Postgres | None = None

    def act(self, act: Act) -> None:
        match act:
            case Act.BYPASS:
                assert self.valkey is not None
                asyncio.run(_bypass(self.valkey.url))
            case Act.REDIS_DOWN:
                assert self.valkey is not None
                self.valkey.stop()
            case Act.SQL_DOWN:
                assert self.postgres is not None
                self.postgres.kill()
        time.sleep(SETTLE_S)

    def memory(self) -> dict[str, float]:
        """By process name, MB; empty for none."""
        return resident_mb(self.place.gateway) if self.place.gateway else {}


def measured(subject: Subject, speed: float, say: Callable[[str], None]) -> dict[str, Any]:
    """Everything that is measured of `subject`. Raises NotMeasured."""
    with ExitStack() as stack:
        tmp = Path(tempfile.mkdtemp(prefix="bench-"))
        tmp.chmod(0o755)  # nginx's workers and PostgreSQL are other users
        stack.callback(shutil.rmtree, tmp, ignore_errors=True)
        stage = staged(subject, tmp, speed * subject.stretch, stack)
        out: dict[str, Any] = {
            "name": subject.name, "gateway": subject.gateway, "version": stage.version, "note": stage.note,
            "models": subject.models, "workers": subject.workers, "redis": subject.redis, "sql": subject.sql,
            "speed": speed, "phases": {}, "rss_idle_mb": stage.memory(),
        }  # fmt: skip
        for phase in (AS_SET_UP, *subject.acts):
            if isinstance(phase, Act):
                stage.act(phase)
            warm_up(stage.place)
            rows = out["phases"][str(phase)] = {}
            for load in subject.loads:
                say(f"{subject.name}, {phase}: {load}")
                try:
                    rows[load] = LOADS[load].run(stage.place)
                except NotMeasured as why:  # the other loads may still do
                    say(f"NOT MEASURED: {subject.name}, {phase}: {load}: {why}")
                    rows[load] = {"not_measured": str(why).split("\n", 1)[0]}
        out["rss_end_mb"] = stage.memory()
        return out


def staged(subject: Subject, tmp: Path, speed: float, stack: ExitStack) -> Stage:
    mocks = stack.enter_context(mock_models(tmp))
    if subject.gateway == "direct":
        return Stage(
            subject, replace(DIRECT, others=mocks, speed=speed), "", "no gateway: load straight at the mock models"
        )
    start = _pointsman if subject.gateway == "pointsman" else _other
    stage = start(subject, tmp, stack)
    stage.place = replace(stage.place, others=mocks, speed=speed)
    answers(stage, tmp)
    return stage


def _pointsman(subject: Subject, tmp: Path, stack: ExitStack) -> Stage:
    valkey = stack.enter_context(start_valkey()) if subject.redis == OWN else None
    postgres = None
    if subject.sql == POSTGRES:
        try:
            postgres = Postgres()
            stack.callback(postgres.close)
            postgres.start()
        except NotHere as error:
            raise NotMeasured(str(error)) from error
    file = settings_file(
        subject,
        tmp,
        port=(port := free_port()),
        redis_url=valkey.url if valkey else None,
        sql_url=postgres.url("postgres") if postgres else None,
    )
    command = f"{sys.executable} -m pointsman serve --config {file} --role router"
    gateway = spawn(command, GATEWAY_CORE, {"POINTSMAN_LOG": "WARNING"}, tmp / "gateway.log")
    stack.callback(stop, gateway)
    wait_port(port, gateway)
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    place = Place(plain_url=url, asked_url=url, gateway=gateway.pid)
    return Stage(subject, place, metadata.version("pointsman"), "everything on", valkey, postgres)


def _other(subject: Subject, tmp: Path, stack: ExitStack) -> Stage:
    known = tomllib.loads((HERE / "gateways.toml").read_text())[subject.gateway]
    places = {"here": str(HERE), "tmp": str(tmp), "peers": str(FOLDER)}

    def filled(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: places.get(found[1], found[0]), text)

    version = version_of(subject.gateway, known)
    env = {name: filled(value) for name, value in known.get("env", {}).items()}
    log = tmp / "gateway.log"
    gateway = spawn(filled(known["cmd"]), GATEWAY_CORE, env, log)
    stack.callback(stop, gateway)
    plain, asked = known["plain_url"], known.get("asked_url", known["plain_url"])
    if pattern := known.get("url_from_log"):  # a gateway that picks its port itself says it there
        url = _said(log, pattern, gateway)
        plain, asked = plain.replace("{url}", url), asked.replace("{url}", url)
    for each in {plain, asked}:
        wait_port(int(each.split(":")[2].split("/")[0]), gateway)
    place = Place(
        plain_url=plain,
        asked_url=asked,
        plain_model=known.get("plain_model", "bench-json"),
        asked_model=known.get("asked_model", "bench-sse"),
        headers=known.get("headers", []),
        gateway=gateway.pid,
    )
    return Stage(subject, place, version, known["note"])


def _said(log: Path, pattern: str, process: "Popen[bytes]") -> str:
    for _ in range(600):
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise NotMeasured(f"it did not say where it listens: {log.read_text(errors='replace')[-800:]}")


def warm_up(place: Place) -> None:
    """Caches, pools, compiled expressions."""
    short = replace(place, speed=0.1)
    LOADS["whole c32"].run(short)
    LOADS["burst"].run(short)


def answers(stage: Stage, tmp: Path) -> None:
    """The right status and the right words must come back, for each kind of request. Raises NotMeasured."""
    place, wrong = stage.place, ""
    for _ in range(ANSWER_TRIES):
        wrong = _wrong(place.plain_url, body_of(place.plain_model, "n=16 d=1"), place, "microseconds of processor time")
        wrong = wrong or _wrong(place.asked_url, body_of(place.asked_model, "n=16 d=1", stream=True), place, "[DONE]")
        if any("structured" in load for load in stage.subject.loads) and place.gateway:
            body = body_of(place.asked_model, "as=json", **structured())
            wrong = wrong or _wrong(place.asked_url, body, place, '"parts\\"')
        if not wrong:
            return
        time.sleep(1)
    log = tmp / "gateway.log"
    raise NotMeasured(f"{wrong}\n{log.read_text(errors='replace')[-2000:] if log.exists() else ''}")


def _wrong(url: str, body: dict[str, Any], place: Place, words: str) -> str:
    headers = {"content-type": "application/json", **dict(h.split(": ", 1) for h in place.headers)}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=60) as r:
            text = r.read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read()[:800]!r}"
    except OSError as error:
        return str(error)
    return "" if words in text else f"unexpected answer: {text[:800]}"


async def _bypass(redis_url: str) -> None:
    """What `pointsman switch set bypass` writes, an hour long."""
    clock = SystemClock()
    link = RedisLink(connect(redis_url), clock)
    now_s = clock.now_s()
    try:
        await RedisSwitches(link).put(
            Switch(
                route=FLEET, mode=SwitchMode.BYPASS, until=now_s + 3600, actor="bench", reason="measured", set_at=now_s
            )
        )
    finally:
        await link.close()

"""`make run` for a newcomer who has no model keys: demo upstreams in front of nothing, the real service in front of them.

The models are one real small model, offered twice (greedy without penalty, which really loops; and a calmer one), and a
scripted upstream that behaves as a request asks. The service is `serve`'s own code on settings written here.
"""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer
from rich.console import Console
from rich.live import Live

from pointsman.assemble import Service, StartError, assembled
from pointsman.cli.check import DEMO_FILE
from pointsman.demo.children import child
from pointsman.demo.live import table
from pointsman.demo.small_model import ALIAS, SICK, WELL, SmallModel
from pointsman.monitoring import Doors, doors_of
from pointsman.serve import listen
from pointsman.settings import Settings, parse

SCRIPTED = "pointsman.demo.scripted"
MAX_TOKENS = 160
"""Enough to see a loop; on a busy machine the model writes some 35 tokens a second, so this is five seconds."""
WANTED_PORTS = (8080, 8081)
FOLDER = DEMO_FILE.parent


def demo_yaml(scripted: int, real: str | None, ports: Sequence[int]) -> str:
    """The demo's pointsman.yaml, as JSON (which is YAML).

    `scripted` is a port, `real` the small model's base URL, `ports` those of clients and operators.
    """

    def model(url: str, name: str, extra: Mapping[str, Any] = MappingProxyType({})) -> dict[str, object]:
        return {"vendor": "demo", "endpoints": [{"base_url": url, "model": name, "extra_body": dict(extra)}]}

    url = f"http://127.0.0.1:{scripted}/v1"
    models = {"scripted": model(url, "scripted"), "scripted-spare": model(url, "scripted-spare")}
    scripted_route = [{"model": "scripted"}, {"model": "scripted-spare", "priority": 1}]
    routes: dict[str, object] = {"scripted": {"candidates": scripted_route}}
    if real is not None:
        models["small-greedy"] = model(real, ALIAS, {**SICK, "max_tokens": MAX_TOKENS})
        models["small-calm"] = model(real, ALIAS, WELL)
        greedy_first = [{"model": "small-greedy"}, {"model": "small-calm", "priority": 1}]
        spare = {"model": "scripted-spare", "priority": 2}
        routes["demo"] = {"candidates": [*greedy_first, spare], "deadline_s": 90}
        routes["calm"] = {"candidates": [{"model": "small-calm"}, spare], "deadline_s": 90}
    else:
        routes["demo"] = {"candidates": scripted_route}
    clients, operators = (f"127.0.0.1:{port}" for port in ports)
    whole = {"listen": clients, "admin_listen": operators, "data_dir": str(FOLDER), "drain_s": 2}
    # By the clock it would take the one small model away from who tries the demo; `pointsman eval` runs it by hand.
    return json.dumps({**whole, "nightly": {"enabled": False}, "models": models, "routes": routes}, indent=2)


def _listening(wanted: int) -> socket.socket:
    """On port `wanted`, or on any that is free when somebody else has it. Raises StartError."""
    try:
        return listen(("127.0.0.1", wanted))
    except StartError:
        return listen(("127.0.0.1", 0))


async def run_demo(*, live: bool) -> None:
    """Start the upstreams and the service; serve until told to stop. Raises StartError, ChildFailed."""
    async with contextlib.AsyncExitStack() as stack:
        typer.echo("starting the demo's models and the service, some seconds …")
        scripted = await stack.enter_async_context(child(SCRIPTED, "--port", "0"))
        real = await _real_model(stack)
        sockets = [stack.enter_context(_listening(port)) for port in WANTED_PORTS]
        ports = [sock.getsockname()[1] for sock in sockets]
        text = demo_yaml(scripted, real, ports)
        settings = parse(text, os.environ)
        service = await stack.enter_async_context(assembled(settings))
        # For the commands that work on the database itself: `pointsman keys list` beside a running demo.
        DEMO_FILE.write_text(text + "\n", encoding="utf-8")
        doors = await doors_of(service, taken=sockets)
        for note in _moved(ports):
            typer.echo(note)
        typer.echo(_welcome(doors, settings, real is not None))
        if live:
            service.background(_show(service), "live view")
        await doors.serve()


async def _real_model(stack: contextlib.AsyncExitStack) -> str | None:
    try:
        model = await stack.enter_async_context(SmallModel())
    except RuntimeError as error:
        typer.echo(f"no small model here, going on with scripted upstreams: {error}")
        return None
    return model.base_url


def _moved(ports: Sequence[int]) -> list[str]:
    """One line for each wanted port that somebody else has."""
    return [
        f"port {wanted} is taken by another program; using {got} instead"
        for wanted, got in zip(WANTED_PORTS, ports, strict=True)
        if got != wanted
    ]


def _welcome(doors: Doors, settings: Settings, real: bool) -> str:
    urls = doors.urls
    body = '{"model": "demo", "messages": [{"role": "user", "content": "Why is the sky blue?"}]}'
    loops = "请用中文详细介绍一下北京的历史。" if real else "Tell me a story. [[stuck]]"
    lines = [
        f"clients:   {urls[0]}/v1  (routes: {', '.join(settings.routes)})",
        *(f"operators: {url}  (pages; log in with the admin token)" for url in urls[1:]),
        f"admin token, shown once: {doors.new_token}"
        if doors.new_token
        else "admin token: the one from the first start; to make a new one, delete var/demo/admin_token.sha256",
        f"health:    {urls[0]}/readyz   metrics: {urls[0]}/metrics",
        f"settings:  {DEMO_FILE}  (the commands take it by themselves while there is no pointsman.yaml here)",
        "",
        "try:",
        f"  curl -i {urls[0]}/v1/chat/completions -H 'content-type: application/json' -d '{body}'",
        f"a prompt that makes the first model loop: {loops}",
        "Ctrl-C ends everything.",
    ]
    return "\n".join(lines)


async def _show(service: Service) -> None:
    console = Console()
    route = service.deps.topology.routes["demo"]
    share = service.settings.breaker.reduced_share
    with Live(console=console, auto_refresh=False) as view:
        while True:
            view.update(table(service.guard, route, service.clock, share), refresh=True)
            await asyncio.sleep(1.0)


def config_here() -> Path | None:
    """The newcomer has none; whoever wrote one wants the real service."""
    file = Path("pointsman.yaml")
    return file if file.exists() else None

"""The loads: what is asked of a gateway for some seconds, and what that cost it. LOADS names them all.

Each load is handed a Place and returns figures: times in µs, `cpu_us` of the gateway per request, stream or event.
"""

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.processes import HERE, LOAD_CORE, NotMeasured, cpu_between, cpu_seconds, machine_busy

Figures = dict[str, Any]
SLICES = 3
"""A figure at 32 connections is the median of so many slices: one disturbance does not count."""
SCHEMA = {
    "type": "object",
    "required": ["name", "parts"],
    "properties": {
        "name": {"type": "string"},
        "parts": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["title", "done", "words"],
                "properties": {
                    "title": {"type": "string"},
                    "done": {"type": "boolean"},
                    "words": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    },
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a load goes, and whose processor time is read. `gateway` 0: straight at the mock models."""

    plain_url: str
    asked_url: str
    plain_model: str = "bench-json"
    asked_model: str = "bench-sse"
    headers: Sequence[str] = ()
    gateway: int = 0
    others: Sequence[int] = ()
    """Mocks and stores: theirs is not the gateway's, nor foreign."""
    speed: float = 1.0
    """Below 1: shorter than the table says, to see whether everything works."""

    def seconds(self, wanted: float) -> float:
        return max(1.0, wanted * self.speed)


def body_of(model: str, prompt: str, **more: Any) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": "You are a helpful assistant. " * 12},
        {"role": "user", "content": f"Tell me something long. {prompt}"},
    ]
    return {"model": model, **more, "messages": messages}


def structured() -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "parts", "schema": SCHEMA}}}


def metered(place: Place, load: Callable[[], tuple[Figures, float]]) -> Figures:
    """Run one load; add what it cost the gateway, and how much of the machine others took meanwhile."""
    own = [pid for pid in (place.gateway, *place.others) if pid]
    busy, cpu, began = machine_busy(), [cpu_seconds(pid) for pid in own], time.monotonic()
    figures, load_cpu = load()
    busy_after, cpu_after = machine_busy(), [cpu_seconds(pid) for pid in own]
    spent = [cpu_between(a, b) for a, b in zip(cpu, cpu_after, strict=True)]
    wall = time.monotonic() - began
    figures["gateway_cpu_s"] = round(spent[0], 4) if place.gateway else None
    figures["foreign"] = round(max(0.0, busy_after[0] - busy[0] - sum(spent) - load_cpu) / wall, 3)
    figures["steal"] = round((busy_after[1] - busy[1]) / wall, 3)
    return figures


def run_load(command: Sequence[str], seconds: float, env: Mapping[str, str] | None = None) -> tuple[Figures, float]:
    """What the load said (its last line of JSON), and the processor seconds it took itself."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=HERE,
            timeout=seconds + 90,
            env={**os.environ, **(env or {})},
            preexec_fn=lambda: os.sched_setaffinity(0, {LOAD_CORE}),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotMeasured(f"{command[0]}: {error}") from error
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise NotMeasured(f"{command[0]} said: {done.stdout[-500:]} {done.stderr[-1500:]}")
    return json.loads(lines[-1]), (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def wrk(
    url: str, body: dict[str, Any], headers: Sequence[str], connections: int, seconds: float
) -> tuple[Figures, float]:
    told = [part for header in headers for part in ("-H", header)]
    command = ["wrk", "-t1", f"-c{connections}", f"-d{math.ceil(seconds)}s", "--timeout", "30s", "-s", "post.lua"]
    return run_load([*command, *told, url], seconds, {"BENCH_BODY": json.dumps(body)})


def stream_load(place: Place, connections: int, deltas: int, delay_ms: int, seconds: float) -> Figures:
    command = [sys.executable, "stream_client.py", place.asked_url, "--model", place.asked_model]
    command += ["-c", str(connections), "-n", str(deltas), "-d", str(delay_ms), "-s", str(seconds)]
    command += [part for header in place.headers for part in ("--header", header)]
    row = metered(place, lambda: run_load(command, seconds))
    if place.gateway:
        row["cpu_us_stream"] = round(row["gateway_cpu_s"] / max(1, row["streams"]) * 1e6, 1)
        row["cpu_us_event"] = round(row["gateway_cpu_s"] / max(1, row["events"]) * 1e6, 2)
    row["reads_per_event"] = round(row["reads"] / max(1, row["events"]), 3)
    row["events_per_s"] = round(row["events"] / row["wall_s"])
    return row


# -- what LOADS is made of -----------------------------------------------------------------------------------------


def whole(place: Place, connections: int, seconds: float, kb: int = 0, as_json: bool = False) -> Figures:
    """Plain requests as fast as they are answered; the median slice by processor time, or by time alone."""
    if as_json:
        url, body = place.asked_url, body_of(place.asked_model, "as=json", **structured())
    elif kb:
        url, body = place.asked_url, body_of(place.asked_model, f"kb={kb}")
    else:
        url, body = place.plain_url, body_of(place.plain_model, "n=64 d=0")
    slices = []
    for _ in range(SLICES):
        row = metered(place, lambda: wrk(url, body, place.headers, connections, place.seconds(seconds) / SLICES))
        row["rps"] = round(row["requests"] / row["seconds"], 1)
        if place.gateway:
            row["cpu_us"] = round(row["gateway_cpu_s"] / max(1, row["requests"]) * 1e6, 1)
        slices.append(row)
    slices.sort(key=lambda row: row.get("cpu_us", row["p50_us"]))
    middle = slices[len(slices) // 2]
    if place.gateway:
        middle["cpu_us_least"], middle["cpu_us_most"] = slices[0]["cpu_us"], slices[-1]["cpu_us"]
    return middle | {name: sum(row[name] for row in slices) for name in ("requests", "bad_status", "bad_socket")}


def paced(place: Place, connections: int, seconds: float) -> Figures:
    """An event each 5 ms; the slope over the length is the price of an event, what is left that of a start."""
    short = stream_load(place, connections, 4, 5, place.seconds(seconds))
    long = stream_load(place, connections, 64, 5, place.seconds(seconds) + 1)
    out: Figures = {"short": short, "long": long, "errors": short["errors"] + long["errors"]}
    if place.gateway and short["streams"] and long["streams"]:
        few, many = short["events"] / short["streams"], long["events"] / long["streams"]
        out["event_us"] = round((long["cpu_us_stream"] - short["cpu_us_stream"]) / (many - few), 2)
        out["start_us"] = round(short["cpu_us_stream"] - out["event_us"] * few, 1)
    return out


def streams(place: Place, connections: int, deltas: int, delay_ms: int, seconds: float) -> Figures:
    return stream_load(place, connections, deltas, delay_ms, place.seconds(seconds))


def many(place: Place, requests: int, connections: int = 32) -> Figures:
    """At least so many plain requests, at a stretch."""
    wanted = max(1_000, requests * place.speed)
    body, done, rows = body_of(place.plain_model, "n=64 d=0"), 0, []
    while done < wanted and len(rows) < 20:
        rate = rows[-1]["requests"] / rows[-1]["seconds"] if rows else 0.0
        seconds = min(60.0, 1.0 + (wanted - done) / rate) if rate else 3.0
        rows.append(metered(place, partial(wrk, place.plain_url, body, place.headers, connections, seconds)))
        done += rows[-1]["requests"]
        if not rows[-1]["requests"]:
            break
    bad = {name: sum(row[name] for row in rows) for name in ("bad_status", "bad_socket")}
    return {"requests": done, "p99_us": statistics.median(row["p99_us"] for row in rows), **bad}


@dataclass(frozen=True, kw_only=True)
class Load:
    """`run` is handed a Place; `seconds`: about how long it takes, for the plan."""

    run: Callable[[Place], Figures]
    seconds: float
    direct: bool = field(default=False)
    """Whether it also says something straight at the mocks: added latency is against that."""


LENGTHS = (4, 16, 64, 256, 1024)
SIZES_KB = (1, 4, 16, 64)
LOADS: dict[str, Load] = {
    "whole c1": Load(run=partial(whole, connections=1, seconds=3), seconds=3, direct=True),
    "whole c32": Load(run=partial(whole, connections=32, seconds=6), seconds=6, direct=True),
    "whole c128": Load(run=partial(whole, connections=128, seconds=6), seconds=6, direct=True),
    "structured c1": Load(run=partial(whole, connections=1, seconds=3, as_json=True), seconds=3, direct=True),
    "structured c32": Load(run=partial(whole, connections=32, seconds=6, as_json=True), seconds=6),
    "first text": Load(run=partial(streams, connections=1, deltas=4, delay_ms=5, seconds=3), seconds=3, direct=True),
    "paced": Load(run=partial(paced, connections=8, seconds=4), seconds=9),
    "busy": Load(run=partial(paced, connections=32, seconds=4), seconds=9),
    "burst": Load(run=partial(streams, connections=16, deltas=64, delay_ms=0, seconds=4), seconds=4, direct=True),
    "100,000 requests": Load(run=partial(many, requests=100_000), seconds=75),
    **{
        f"whole {kb} KB": Load(run=partial(whole, connections=8, seconds=6, kb=kb), seconds=6) for kb in SIZES_KB
    },
    **{
        f"stream of {n}": Load(run=partial(streams, connections=8, deltas=n, delay_ms=2, seconds=4), seconds=5)
        for n in LENGTHS
    },
}  # fmt: skip

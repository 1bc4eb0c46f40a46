"""Mixed traffic for minutes: memory, file handles, tasks, Redis and SQL are judged by how they grow, not by how big they are.

POINTSMAN_SOAK_S (default 300) says for how long. First the crowd asks as fast as it is answered, which tells what this
machine can do; then it keeps to 60 % of that. A tenth of the streams is left by its client, some read slowly, and every
twenty seconds a burst comes.
"""

import asyncio
import os
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import httpx
import pytest
from redis import Redis

from tests.support.crowd import Crowd, Seen
from tests.support.deployment import Deployment, Member, deployed, rows
from tests.support.postgres import NotHere

SECONDS = float(os.environ.get("POINTSMAN_SOAK_S", "300"))
SAMPLE_S = 2.0
LOAD = 0.6
CAPACITY_S = min(60.0, SECONDS / 5)
WALKERS = 64
"""Enough that those who read slowly, half a minute each, do not set the pace."""
BURST = 30
BURST_EVERY_S = 20.0
GROWTH_AN_HOUR = 0.25
"""Part by which memory may be growing per hour, by slope: a leak of 100 bytes a request at 60 requests a second is 21 MB."""
HANDLES = 12
TASKS = 12
ROW_BYTES = 4_000
KEY_BYTES = 8_000


@dataclass(slots=True, kw_only=True)
class Readings:
    """Of one process: `rss` in bytes, file `handles`, `tasks` of its loop and `cpu_s` used so far, at `at` seconds."""

    at: list[float] = field(default_factory=list)
    rss: list[float] = field(default_factory=list)
    handles: list[float] = field(default_factory=list)
    tasks: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    async def take(self, member: Member, client: httpx.AsyncClient, now_s: float) -> None:
        told = (await client.get(f"{member.url}/metrics")).text
        of = dict(line.rsplit(" ", 1) for line in told.splitlines() if line.startswith(("process_", "pointsman_tasks")))
        self.at.append(now_s)
        self.rss.append(float(of["process_resident_memory_bytes"]))
        self.handles.append(float(of["process_open_fds"]))
        self.tasks.append(float(of["pointsman_tasks"]))
        self.cpu_s.append(float(of["process_cpu_seconds_total"]))


def slope(at: list[float], values: list[float]) -> float:
    """Theil–Sen: the median of the slopes between all pairs; a burst or a collection of garbage does not move it."""
    pairs = [(j, i) for i in range(len(at)) for j in range(i + 1, len(at)) if at[j] > at[i]]
    return statistics.median((values[j] - values[i]) / (at[j] - at[i]) for j, i in pairs)


@pytest.mark.long
@pytest.mark.timeout(SECONDS + CAPACITY_S + 600)
async def test_minutes_of_mixed_traffic_leave_nothing_behind(tmp_path: Path) -> None:
    try:
        async with deployed(tmp_path, routers=2) as deployment:
            for name, upstream in deployment.upstreams.items():
                upstream.behave(name, "phrase_loop", 0.03)
            seen, rng = Seen(), Random(11)
            crowd = Crowd(deployment.routers, rng, seen, pause_s=0.0, slow=0.05)
            walkers = [asyncio.create_task(crowd.walk()) for _ in range(WALKERS)]
            await asyncio.sleep(CAPACITY_S)
            capacity, before = seen.count / CAPACITY_S, seen.count
            crowd.rate = max(1.0, LOAD * capacity - BURST / BURST_EVERY_S)
            bursts = asyncio.create_task(crowd.bursts(BURST, BURST_EVERY_S))
            readings = await _watched(deployment, SECONDS)
            held = (seen.count - before) / SECONDS
            crowd.until.set()
            await asyncio.gather(*walkers, bursts)
            print(
                f"{capacity:.1f} answers a second at most, then {held:.1f}: {held / capacity:.0%} load, bursts included"
            )
            print(f"{seen.count} answers, {seen.hung_up} hung up, slowest {seen.slowest_s:.1f} s, {dict(seen.served)}")
            assert not seen.faults, seen.faults[:10]
            _each_process_is_flat(deployment, readings)
            _redis_holds_what_it_should(deployment)
            await _sql_holds_a_row_a_request(deployment, seen)
    except NotHere as why:
        pytest.skip(f"NOT RUN: postgres, {why}")


async def _watched(deployment: Deployment, seconds: float) -> list[Readings]:
    loop = asyncio.get_running_loop()
    readings = [Readings() for _ in deployment.members]
    end = loop.time() + seconds
    async with httpx.AsyncClient(timeout=60) as client:
        while loop.time() < end:
            for reading, member in zip(readings, deployment.members, strict=True):
                await reading.take(member, client, loop.time())
            await asyncio.sleep(SAMPLE_S)
    return readings


def _each_process_is_flat(deployment: Deployment, readings: list[Readings]) -> None:
    for reading, member in zip(readings, deployment.members, strict=True):
        # Caches, pools and the allocator fill in the first third.
        late = len(reading.at) // 3
        hourly = slope(reading.at[late:], reading.rss[late:]) * 3_600 / statistics.median(reading.rss[late:])
        busy = (reading.cpu_s[-1] - reading.cpu_s[0]) / (reading.at[-1] - reading.at[0])
        handles, more_handles = _early_and_late(reading.handles[late:])
        tasks, more_tasks = _early_and_late(reading.tasks[late:])
        print(
            f"{member.role}: {reading.rss[-1] / 1e6:.0f} MB, {hourly:+.1%} an hour; {busy:.0%} of a core; "
            f"handles {handles:g} → {more_handles:g}, tasks {tasks:g} → {more_tasks:g}"
        )
        assert hourly <= GROWTH_AN_HOUR * max(1.0, 1_800 / SECONDS), f"{member.role} grows"
        assert more_handles <= handles + HANDLES, f"{member.role} keeps handles"
        assert more_tasks <= tasks + TASKS, f"{member.role} keeps tasks"


def _early_and_late(values: list[float]) -> tuple[float, float]:
    half = len(values) // 2
    return statistics.median(values[:half]), statistics.median(values[half:])


def _redis_holds_what_it_should(deployment: Deployment) -> None:
    with Redis.from_url(deployment.valkey.url) as redis:
        keys = list(redis.scan_iter(count=1000))
        endless = [key for key in keys if redis.ttl(key) == -1]
        held = sum(redis.memory_usage(key) or 0 for key in keys)
    print(f"valkey: {len(keys)} keys, {held / max(1, len(keys)):.0f} bytes each; {len(endless)} without an end")
    assert held <= KEY_BYTES * len(keys)


async def _sql_holds_a_row_a_request(deployment: Deployment, seen: Seen) -> None:
    for router in deployment.routers:
        assert await router.stop() == 0
    kept = {row[0] for row in await rows(deployment.postgres.url, "SELECT request_id FROM call")}
    size = int(str((await rows(deployment.postgres.url, "SELECT pg_total_relation_size('call')"))[0][0]))
    print(f"postgres: {len(kept)} rows, {size / len(kept):.0f} bytes each")
    assert set(seen.answered) <= kept
    assert size / len(kept) <= ROW_BYTES


def test_a_slope_is_seen_through_noise() -> None:
    rng = Random(3)
    at = [float(t) for t in range(100)]
    assert abs(slope(at, [1_000 + rng.uniform(-50, 50) for _ in at])) < 0.5
    assert slope(at, [1_000 + 2 * t + rng.uniform(-50, 50) for t in at]) == pytest.approx(2, abs=0.5)

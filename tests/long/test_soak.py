"""Mixed traffic for minutes: memory, file handles, Redis and SQL are judged by how they grow, not by how big they are.

POINTSMAN_SOAK_S (default 300) says for how long. A tenth of the streams is left by its client, some read slowly, and every
twenty seconds a burst comes.
"""

import asyncio
import os
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from redis import Redis

from tests.support.crowd import Crowd, Seen
from tests.support.deployment import Deployment, Member, deployed, rows
from tests.support.postgres import NotHere

SECONDS = float(os.environ.get("POINTSMAN_SOAK_S", "300"))
SAMPLE_S = 2.0
WALKERS = 6
BURST = 30
BURST_EVERY_S = 20.0
GROWTH_AN_HOUR = 0.25
"""Part by which memory may be growing per hour, by slope: a leak of 100 bytes a request at 60 requests a second is 21 MB."""
HANDLES = 12
ROW_BYTES = 4_000
KEY_BYTES = 8_000


@dataclass(slots=True, kw_only=True)
class Readings:
    """Of one process: `rss` in bytes and `handles`, at `at` seconds."""

    at: list[float] = field(default_factory=list)
    rss: list[float] = field(default_factory=list)
    handles: list[int] = field(default_factory=list)

    def take(self, member: Member, now_s: float) -> None:
        assert member.process is not None
        place = Path(f"/proc/{member.process.pid}")
        self.at.append(now_s)
        self.rss.append(int((place / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        self.handles.append(len(list((place / "fd").iterdir())))


def slope(at: list[float], values: list[float]) -> float:
    """Theil–Sen: the median of the slopes between all pairs; a burst or a collection of garbage does not move it."""
    pairs = [(j, i) for i in range(len(at)) for j in range(i + 1, len(at)) if at[j] > at[i]]
    return statistics.median((values[j] - values[i]) / (at[j] - at[i]) for j, i in pairs)


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 300)
async def test_minutes_of_mixed_traffic_leave_nothing_behind(tmp_path: Path) -> None:
    try:
        async with deployed(tmp_path, routers=2) as deployment:
            for name, upstream in deployment.upstreams.items():
                upstream.behave(name, "phrase_loop", 0.03)
            seen, rng = Seen(), Random(11)
            crowd = Crowd(deployment.routers, rng, seen, pause_s=0.05, slow=0.05)
            walkers = [asyncio.create_task(crowd.walk()) for _ in range(WALKERS)]
            bursts = asyncio.create_task(crowd.bursts(BURST, BURST_EVERY_S))
            readings = await _watched(deployment, SECONDS)
            crowd.until.set()
            await asyncio.gather(*walkers, bursts)
            print(f"{seen.count} answers, {seen.hung_up} hung up, slowest {seen.slowest_s:.1f} s, {dict(seen.served)}")
            assert not seen.faults, seen.faults[:10]
            _memory_and_handles_are_flat(deployment, readings)
            _redis_holds_what_it_should(deployment)
            await _sql_holds_a_row_a_request(deployment, seen)
    except NotHere as why:
        pytest.skip(f"NOT RUN: postgres, {why}")


async def _watched(deployment: Deployment, seconds: float) -> list[Readings]:
    loop = asyncio.get_running_loop()
    readings = [Readings() for _ in deployment.members]
    end = loop.time() + seconds
    while loop.time() < end:
        for reading, member in zip(readings, deployment.members, strict=True):
            reading.take(member, loop.time())
        await asyncio.sleep(SAMPLE_S)
    return readings


def _memory_and_handles_are_flat(deployment: Deployment, readings: list[Readings]) -> None:
    for reading, member in zip(readings, deployment.members, strict=True):
        # Caches, pools and the allocator fill in the first third.
        late = len(reading.at) // 3
        hourly = slope(reading.at[late:], reading.rss[late:]) * 3_600 / statistics.median(reading.rss[late:])
        quiet, last = (
            statistics.median(reading.handles[late : late * 2]),
            statistics.median(reading.handles[late * 2 :]),
        )
        print(f"{member.role}: {reading.rss[-1] / 1e6:.0f} MB, {hourly:+.1%} an hour; handles {quiet:g} → {last:g}")
        assert hourly <= GROWTH_AN_HOUR * max(1.0, 1_800 / SECONDS), f"{member.role} grows"
        assert last <= quiet + HANDLES, f"{member.role} keeps handles"


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

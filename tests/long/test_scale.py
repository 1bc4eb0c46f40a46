"""Eight router processes on a real three-node cluster: the fleet's sums are the sums of what each of them did."""

import asyncio
import re
from pathlib import Path
from random import Random

import httpx
import pytest

from base.clock import SystemClock
from store.redis_link import RedisLink, connect
from store.redis_windows import RedisCounts
from tests.support.crowd import Crowd, Seen
from tests.support.deployment import Deployment, deployed
from tests.support.postgres import NotHere
from tests.support.valkey_cluster import start_cluster

ROUTERS = 8
SECONDS = 40.0
CLIENTS = 16
ATTEMPT = re.compile(r"pointsman_attempts_total\{(?P<labels>[^}]*)\} (?P<value>[\d.e+]+)")


async def judged_by_routers(deployment: Deployment) -> dict[str, int]:
    """By model: attempts that every router counts as good or degenerate."""
    sums: dict[str, int] = {"a": 0, "b": 0}
    async with httpx.AsyncClient(timeout=30) as client:
        for router in deployment.routers:
            for found in ATTEMPT.finditer((await client.get(f"{router.url}/metrics")).text):
                labels = dict(re.findall(r'(\w+)="([^"]*)"', found["labels"]))
                if labels["outcome"] in ("good", "degenerate"):
                    sums[labels["model"]] += int(float(found["value"]))
    return sums


async def judged_in_store(url: str) -> dict[str, int]:
    clock = SystemClock()
    link = RedisLink(connect(url), clock)
    try:
        last = int(clock.now_s() // 60)
        counts = RedisCounts(link, clock)
        rows = {model: await counts.minutes(model, last - 10, last) for model in ("a", "b")}
        return {model: sum(row.counts.judged for row in of if row.scope == "") for model, of in rows.items()}
    finally:
        await link.close()


@pytest.mark.long
@pytest.mark.timeout(400)
async def test_eight_replicas_on_a_cluster_count_what_each_of_them_did(tmp_path: Path) -> None:
    routes = {"chat": {"candidates": [{"model": "a"}, {"model": "b"}]}}
    try:
        with start_cluster() as url:
            async with deployed(tmp_path, routers=ROUTERS, redis_url=url, routes=routes) as deployment:
                deployment.upstreams["a"].behave("a", "phrase_loop", 0.05)
                seen = Seen()
                crowd = Crowd(deployment.routers, Random(5), seen, pause_s=0.05, hasty=0.0)
                walkers = [asyncio.create_task(crowd.walk()) for _ in range(CLIENTS)]
                await asyncio.sleep(SECONDS)
                crowd.until.set()
                await asyncio.gather(*walkers)
                assert not seen.faults, seen.faults[:10]
                told = await judged_by_routers(deployment)
                for _ in range(50):  # a flush goes out every 200 ms
                    if await judged_in_store(url) == told:
                        break
                    await asyncio.sleep(0.2)
                print(f"{seen.count} answers by {ROUTERS} routers: {told}")
                assert await judged_in_store(url) == told
                assert sum(told.values()) >= seen.count > ROUTERS
    except NotHere as why:
        pytest.skip(f"NOT RUN: postgres, {why}")

"""Eight router processes on a real three-node cluster: the fleet's sums are the sums of what each of them did."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from tests.support.crowd import Crowd, Seen
from tests.support.deployment import deployed
from tests.support.postgres import NotHere
from tests.support.sums import judged_by_routers, judged_in_store
from tests.support.valkey_cluster import start_cluster

ROUTERS = 8
SECONDS = 40.0
CLIENTS = 16


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

"""What routers did, by their own metrics, and what the fleet's store adds up to."""

import re

import httpx

from base.clock import SystemClock
from store.redis_link import RedisLink, connect
from store.redis_windows import RedisCounts
from tests.support.deployment import Deployment

ATTEMPT = re.compile(r"pointsman_attempts_total\{(?P<labels>[^}]*)\} (?P<value>[\d.e+]+)")
MODELS = ("a", "b")


async def judged_by_routers(deployment: Deployment) -> dict[str, int]:
    """By model: attempts that every router counts as good or degenerate."""
    sums = dict.fromkeys(MODELS, 0)
    async with httpx.AsyncClient(timeout=30) as client:
        for router in deployment.routers:
            for found in ATTEMPT.finditer((await client.get(f"{router.url}/metrics")).text):
                labels = dict(re.findall(r'(\w+)="([^"]*)"', found["labels"]))
                if labels["outcome"] in ("good", "degenerate"):
                    sums[labels["model"]] += int(float(found["value"]))
    return sums


async def judged_in_store(url: str, minutes: int = 30) -> dict[str, int]:
    """By model: judged replies of the last `minutes` minutes, over all writers."""
    clock = SystemClock()
    link = RedisLink(connect(url), clock)
    try:
        last = int(clock.now_s() // 60)
        counts = RedisCounts(link, clock)
        rows = {model: await counts.minutes(model, last - minutes, last) for model in MODELS}
        return {model: sum(row.counts.judged for row in of if row.scope == "") for model, of in rows.items()}
    finally:
        await link.close()

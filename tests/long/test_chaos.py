"""Random kills and freezes of everything behind and beside the routers, under load: what must hold holds all the while.

POINTSMAN_CHAOS_S (default 120) says for how long, POINTSMAN_SEED which run to play again; both are printed.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import httpx
import pytest

from tests.support.crowd import Crowd, Seen
from tests.support.deployment import Deployment, deployed, rows
from tests.support.invariants import (
    SEVERITY,
    changes,
    counts_are_exact,
    moves_are_a_chain,
    only_without_another,
    watch_routes,
)
from tests.support.postgres import NotHere

SECONDS = float(os.environ.get("POINTSMAN_CHAOS_S", "120"))
CLIENTS = 6
LOST_WITH_A_ROUTER = 60
"""Call rows a router may take with it when killed: those of its last half second that were not yet written or spooled."""
AGREED_S = 5.0
MOVES = "SELECT model, epoch, from_level, to_level, at, reasons FROM transition ORDER BY at"
SPELLS = ("stuck", "phrase_loop", "sentence_loop", "empty", "500", "cut", "hang", "garbage", "recover")


class Chaos:
    """One fault after another, from a seed; each is undone before the run ends."""

    def __init__(self, deployment: Deployment, rng: Random) -> None:
        self._d, self._rng = deployment, rng
        self.story: list[str] = []

    async def run(self, seconds: float) -> None:
        faults: list[Callable[[], Awaitable[None]]] = [
            *(self._spell, self._spell, self._upstream_killed, self._upstream_frozen, self._valkey_killed),
            *(self._postgres_killed, self._router_killed, self._router_frozen, self._monitor_killed),
        ]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await self._rng.choice(faults)()
            await asyncio.sleep(self._rng.uniform(0.5, 3.0))
        for name, upstream in self._d.upstreams.items():
            upstream.behave(name, "healthy", 1.0)

    def _tell(self, what: str) -> None:
        self.story.append(what)

    async def _wait(self, low: float, high: float) -> None:
        await asyncio.sleep(self._rng.uniform(low, high))

    async def _spell(self) -> None:
        name, spell = self._rng.choice("ab"), self._rng.choice(SPELLS)
        share = self._rng.choice((0.1, 0.3, 1.0))
        self._tell(f"{name} {spell} {share}")
        await asyncio.to_thread(self._d.upstreams[name].behave, name, spell, share)
        await self._wait(2, 6)
        await asyncio.to_thread(self._d.upstreams[name].behave, name, "healthy", 1.0)

    async def _upstream_killed(self) -> None:
        name = self._rng.choice("ab")
        self._tell(f"upstream {name} killed")
        await self._d.upstreams[name].kill()
        await self._wait(0.2, 4)
        await self._d.upstreams[name].start()

    async def _upstream_frozen(self) -> None:
        name = self._rng.choice("ab")
        self._tell(f"upstream {name} frozen")
        self._d.upstreams[name].freeze()
        await self._wait(0.5, 4)
        self._d.upstreams[name].thaw()

    async def _valkey_killed(self) -> None:
        self._tell("valkey killed, comes back empty")
        self._d.valkey.stop()
        await self._wait(0.2, 5)
        await asyncio.to_thread(self._d.valkey.restart)

    async def _postgres_killed(self) -> None:
        self._tell("postgres killed")
        await asyncio.to_thread(self._d.postgres.kill)
        await self._wait(0.2, 5)
        await asyncio.to_thread(self._d.postgres.start)

    async def _router_killed(self) -> None:
        router = self._rng.choice(self._d.routers)
        self._tell(f"{router.listen} killed")
        await router.kill()
        await self._wait(0.1, 2)
        await router.start()

    async def _router_frozen(self) -> None:
        router = self._rng.choice(self._d.routers)
        self._tell(f"{router.listen} frozen")
        router.freeze()
        await self._wait(0.5, 3)
        router.thaw()

    async def _monitor_killed(self) -> None:
        self._tell("monitor killed")
        await self._d.monitor.kill()
        await self._wait(0.1, 3)
        await self._d.monitor.start()


@pytest.mark.long
@pytest.mark.timeout(SECONDS * 2 + 300)
async def test_whatever_is_killed_no_request_is_lost_and_no_loop_is_shown(tmp_path: Path) -> None:
    seed = int(os.environ.get("POINTSMAN_SEED", str(time.time_ns() % 1_000_000)))
    print(f"POINTSMAN_SEED={seed} POINTSMAN_CHAOS_S={SECONDS:g}")
    routes = {
        "chat": {
            "candidates": [{"model": "a"}, {"model": "b"}],
            "timeouts": {"connect_s": 1, "first_text_s": 3, "idle_s": 3, "total_s": 20},
            "deadline_s": 20,
        }
    }
    try:
        async with deployed(tmp_path, routes=routes) as deployment:
            seen, chaos = Seen(), Chaos(deployment, Random(seed))
            crowd = Crowd(deployment.routers, Random(seed + 1), seen, pause_s=0.05)
            walkers = [asyncio.create_task(crowd.walk()) for _ in range(CLIENTS)]
            watcher = asyncio.create_task(watch_routes(deployment, crowd.until, seen.faults))
            await chaos.run(SECONDS)
            crowd.until.set()
            await asyncio.gather(*walkers)
            stood = await watcher
            print(f"{seen.count} answers, {seen.moved} moved, {seen.hung_up} hung up, {dict(seen.served)}")
            print(f"slowest {seen.slowest_s:.1f} s; {len(chaos.story)} faults; {len(seen.broken)} streams broke off")
            assert seen.count > SECONDS, chaos.story
            assert not seen.faults, (seen.faults[:10], chaos.story)
            only_without_another(seen.broken, stood)
            did, kept = await counts_are_exact(deployment, LOST_WITH_A_ROUTER)
            print(f"judged by the living {did}, kept {kept}")
            await _every_answer_is_on_record(deployment, seen)
            moves = await moves_are_a_chain(deployment)
            print(f"{moves} transitions, {len(deployment.robot.received)} messages")
            print(*await rows(deployment.postgres.url, MOVES), sep="\n")
            print("seen:", *changes(stood), sep="\n")
            await _routers_agree(deployment)
    except NotHere as why:
        pytest.skip(f"NOT RUN: postgres, {why}")


async def _every_answer_is_on_record(deployment: Deployment, seen: Seen) -> None:
    for member in deployment.routers:
        assert await member.stop() == 0, member.log.read_text()[-2000:]
        await member.start()
    kept = {row[0] for row in await rows(deployment.postgres.url, "SELECT request_id FROM call")}
    lives = {index: router.born - 1 for index, router in enumerate(deployment.routers)}
    last = [rid for rid, (index, life) in seen.answered.items() if life == lives[index]]
    missing = [rid for rid in last if rid not in kept]
    assert not missing, f"{len(missing)} of {len(last)} answers of routers that lived are not on record"
    lost = [rid for rid in seen.answered if rid not in kept]
    deaths = sum(router.killed for router in deployment.routers)
    print(f"{len(kept)} rows; {len(lost)} answers went with {deaths} killed routers")
    assert len(lost) <= deaths * LOST_WITH_A_ROUTER


async def _routers_agree(deployment: Deployment) -> None:
    """After fresh requests alone, the routers tell the same levels, a few polls after the last move at the latest."""
    async with httpx.AsyncClient(timeout=30) as client:
        for router in deployment.routers:
            body = {"model": "chat", "messages": [{"role": "user", "content": "hello"}]}
            answer = await client.post(f"{router.url}/v1/chat/completions", json=body)
            assert answer.status_code == 200
        end = time.monotonic() + AGREED_S
        while True:
            pages = [(await client.get(f"{router.url}/metrics")).text for router in deployment.routers]
            told = [sorted(SEVERITY.findall(page)) for page in pages]
            if told[0] == told[1] == told[2]:
                return
            assert time.monotonic() < end, (told, await rows(deployment.postgres.url, MOVES))
            await asyncio.sleep(0.2)

"""Eight routers, one Valkey that is killed five times under load and comes back empty: sums, moves and requests hold."""

import asyncio
import time
from pathlib import Path
from random import Random

import httpx
import pytest

from tests.support.deployment import Deployment, deployed, rows
from tests.support.postgres import NotHere
from tests.support.sums import judged_by_routers, judged_in_store

ROUTERS = 8
CLIENTS = 8
QUIET_S = 20.0
KILLS = 5
DOWN_S = (1.0, 4.0)
UP_S = 5.0
SETTLED_S = 60.0


class Load:
    """Clients that ask without pause; the durations of each phase, and what went wrong."""

    def __init__(self, deployment: Deployment) -> None:
        self._routers = deployment.routers
        self.durations: list[float] = []
        self.faults: list[str] = []
        self.over = asyncio.Event()

    async def client(self, rng: Random) -> None:
        body = {"model": "chat", "messages": [{"role": "user", "content": "Tell me about the sea."}]}
        async with httpx.AsyncClient(timeout=60) as client:
            while not self.over.is_set():
                began = time.monotonic()
                answer = await client.post(f"{rng.choice(self._routers).url}/v1/chat/completions", json=body)
                self.durations.append(time.monotonic() - began)
                if answer.status_code != 200:
                    self.faults.append(f"{answer.status_code} {answer.text[:200]}")
                await asyncio.sleep(0.05)

    def taken(self) -> list[float]:
        out, self.durations = sorted(self.durations), []
        return out


def p99(durations: list[float]) -> float:
    return durations[int(len(durations) * 0.99)]


@pytest.mark.long
@pytest.mark.timeout(1_200)
async def test_a_valkey_killed_five_times_costs_no_count_no_move_and_no_request(tmp_path: Path) -> None:
    routes = {"chat": {"candidates": [{"model": "a"}, {"model": "b"}], "timeouts": {"total_s": 30}}}
    try:
        async with deployed(tmp_path, routers=ROUTERS, routes=routes) as deployment:
            load = Load(deployment)
            clients = [asyncio.create_task(load.client(Random(number))) for number in range(CLIENTS)]
            await asyncio.sleep(QUIET_S)
            quiet = load.taken()
            await _killed_five_times(deployment, Random(7))
            disturbed = load.taken()
            load.over.set()
            await asyncio.gather(*clients)
            print(
                f"{len(quiet)} requests undisturbed, {len(disturbed)} during {KILLS} kills; "
                f"p99 {p99(quiet) * 1e3:.0f} ms and {p99(disturbed) * 1e3:.0f} ms: x{p99(disturbed) / p99(quiet):.2f}"
            )
            assert not load.faults, load.faults[:5]
            await _sums_agree(deployment)
            await _moves_are_told_once(deployment)
    except NotHere as why:
        pytest.skip(f"NOT RUN: postgres, {why}")


async def _killed_five_times(deployment: Deployment, rng: Random) -> None:
    for kill in range(KILLS):
        deployment.valkey.stop()
        await asyncio.sleep(rng.uniform(*DOWN_S))
        await asyncio.to_thread(deployment.valkey.restart)
        if kill == 1:
            # One vendor dies: its model must open, once, whatever happens to the store meanwhile.
            await asyncio.to_thread(deployment.upstreams["b"].behave, "b", "500", 1.0)
        await asyncio.sleep(UP_S)


async def _sums_agree(deployment: Deployment) -> None:
    """What the store adds up to is what the routers say they did, within a minute after the last kill."""
    end = time.monotonic() + SETTLED_S
    while True:
        did, kept = await judged_by_routers(deployment), await judged_in_store(deployment.valkey.url)
        if did == kept or time.monotonic() > end:
            break
        await asyncio.sleep(1.0)
    print(f"judged by the routers {did}, kept {kept}")
    assert kept == did


async def _moves_are_told_once(deployment: Deployment) -> None:
    moves = await rows(deployment.postgres.url, "SELECT model, epoch, to_level FROM transition ORDER BY model, epoch")
    incidents = await rows(deployment.postgres.url, "SELECT key, opened_at, resolved_at FROM incident")
    print(f"moves {moves}; incidents {incidents}")
    assert any(move[0] == "b" and move[2] == "open" for move in moves)
    for model in ("a", "b"):
        epochs = [move[1] for move in moves if move[0] == model]
        assert epochs == list(range(1, len(epochs) + 1)), "each epoch is one move, and none is missing"
    still_open = [incident[0] for incident in incidents if incident[2] is None]
    assert len(set(still_open)) == len(still_open), "one incident per condition"

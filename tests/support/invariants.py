"""What must hold of a deployment whatever was killed: its moves, its alerts, its counts, its routes."""

import asyncio
import json
import re
import time
from collections import Counter
from itertools import pairwise
from typing import Any

import httpx

from tests.support.deployment import Deployment, rows
from tests.support.sums import MODELS, judged_by_routers, judged_in_store

SEVERITY = re.compile(r'pointsman_model_severity\{model="(\w+)"\} (\d)')
PHRASE_ONLY = re.compile(r'pointsman_route_phrase_only\{route="chat"\} (\d)')
NEAR_S = 5.0
"""Each router is asked once a second, and a frozen one tells late."""
SETTLED_S = 60.0
"""A router that was cut off writes its minutes again within this: the resync a minute after an unknown writer is seen."""


async def moves_are_a_chain(deployment: Deployment) -> int:
    """One move an epoch, each beginning where the one before ended, each in one incident's timeline once. How many."""
    moves = await rows(
        deployment.postgres.url, "SELECT model, epoch, from_level, to_level FROM transition ORDER BY model, epoch"
    )
    for before, after in pairwise(moves):
        if before[0] == after[0]:
            assert after[1] != before[1], f"{after[0]}: epoch {after[1]} is there twice"
            if after[1] == int(str(before[1])) + 1:
                assert after[2] == before[3], f"{after[0]}: {before} is followed by {after}"
    told = await rows(
        deployment.postgres.url,
        "SELECT i.model, e.facts FROM incident_event e JOIN incident i ON i.id = e.incident_id WHERE i.kind = 'transition'",
    )
    epochs = Counter((model, _json(facts).get("epoch")) for model, facts in told)
    twice = {move: times for move, times in epochs.items() if move[1] is not None and times > 1}
    assert not twice, f"moves in more than one alert: {twice}"
    return len(moves)


async def counts_are_exact(deployment: Deployment, lost_with_a_router: int) -> tuple[dict[str, int], dict[str, int]]:
    """The store knows all that the living routers judged, and no more than what was ever asked: nothing lost or doubled.

    A killed router takes the counts that it had not flushed with it, and at most `lost_with_a_router` call rows.
    Returns (judged by those alive, kept in the store), by model.
    """
    for _ in range(int(SETTLED_S)):
        did, kept = await judged_by_routers(deployment), await judged_in_store(deployment.valkey.url, 120)
        if all(kept[model] >= did[model] for model in MODELS):
            break
        await asyncio.sleep(1)
    assert all(kept[model] >= did[model] for model in MODELS), f"judged {did}, kept only {kept}"
    asked = Counter(
        attempt["model"]
        for (attempts,) in await rows(deployment.postgres.url, "SELECT attempts FROM call")
        for attempt in _json(attempts)
    )
    deaths = sum(router.killed for router in deployment.routers)
    most = {model: asked[model] + deaths * lost_with_a_router for model in MODELS}
    assert all(kept[model] <= most[model] for model in MODELS), f"kept {kept}, though asked {dict(asked)}"
    return did, kept


Standing = tuple[float, dict[str, str]]
"""When (`time.monotonic`), and each model's severity as one router told it."""


async def watch_routes(deployment: Deployment, until: asyncio.Event, faults: list[str]) -> list[Standing]:
    """Ask every living router again and again: its route is phrase-only exactly while no model of it may answer."""
    stood: list[Standing] = []
    async with httpx.AsyncClient(timeout=10) as client:
        while not until.is_set():
            for router in deployment.routers:
                if not router.up or router.frozen:
                    continue
                try:
                    page = (await client.get(f"{router.url}/metrics")).text
                except httpx.HTTPError:
                    continue  # killed or frozen meanwhile; whether it answers requests is the crowd's to judge
                severities = dict(SEVERITY.findall(page))
                phrase_only = PHRASE_ONLY.search(page)
                stood.append((time.monotonic(), severities))
                if severities and phrase_only is not None:
                    expected = all(severity == "3" for severity in severities.values())
                    if (phrase_only[1] == "1") != expected:
                        faults.append(f"phrase_only {phrase_only[1]} while models stand at {severities}")
            await asyncio.sleep(1)
    return stood


def only_without_another(broken: list[tuple[float, str]], stood: list[Standing]) -> None:
    """A stream may break off for its client, told so, only while no other model was in service to continue it."""
    for at, model in broken:
        near = [severities for when, severities in stood if abs(when - at) <= NEAR_S]
        others = [severity for severities in near for name, severity in severities.items() if name != model]
        assert "3" in others, f"a stream of {model} broke off while the others stood at {others}"


def changes(stood: list[Standing]) -> list[tuple[float, str, str]]:
    """When (seconds since the first look) any router first told another severity of a model than the look before."""
    last: dict[str, str] = {}
    out = []
    for at, severities in stood:
        for name, severity in severities.items():
            if last.get(name) != severity:
                out.append((round(at - stood[0][0], 1), name, severity))
                last[name] = severity
    return out


def _json(value: object) -> Any:
    return json.loads(value) if isinstance(value, str) else value

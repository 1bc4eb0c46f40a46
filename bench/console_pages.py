"""What each page of the console costs, with 200 models and 30 days of records in SQLite: `python -m bench.console_pages`.

Runs the real service in this process and asks its pages over ASGI, so that the time is the server's own. Prints, per page,
the least and the median processor time and wall time of some turns, and the bytes on the wire (gzip).
"""

import argparse
import asyncio
import os
import re
import statistics
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import httpx
from sqlalchemy import insert

from breaker.window import COUNT_NAMES
from pointsman.assemble import Service, assembled
from pointsman.monitoring import doors_of
from pointsman.settings import parse
from store.tables import call, failed_reply, hour_count
from tests.support.console_world import LOOPS, Patient, many, seed_counts, settings_text

TOKEN = "pma-bench"
DAY_S, CHUNK = 86_400, 10_000
LIMIT_MS, LIMIT_BYTES = 300, 200_000


async def fill(service: Service, patients: tuple[Patient, ...], calls: int, rng: Random) -> None:
    """30 days of calls (one in twenty failed over, with an excerpt) and of hourly counts."""
    now_s = service.clock.now_s()
    names = [p.name for p in patients]
    async with service.engine.begin() as sql:
        for start in range(0, calls, CHUNK):
            rows = [_call(rng, names, now_s) for _ in range(min(CHUNK, calls - start))]
            await sql.execute(insert(call), rows)
            bad = [_failed(rng, row) for row in rows if row["fallback"] != "none" and row["at"] > now_s - 14 * DAY_S]
            if bad:
                await sql.execute(insert(failed_reply), bad)
        zero = dict.fromkeys(COUNT_NAMES, 0)
        hours = range(int(now_s // 3600) - 720, int(now_s // 3600))
        for name in names:
            counts = [{**zero, "judged": rng.randrange(50, 900), "stuck": rng.randrange(0, 9)} for _ in hours]
            rows = [
                {"model": name, "scope": "", "starts_at": hour * 3600, "weight": 60, "counts": c, "fingerprints": {}}
                for hour, c in zip(hours, counts, strict=True)
            ]
            await sql.execute(insert(hour_count), rows)


def _call(rng: Random, names: list[str], now_s: float) -> dict[str, Any]:
    first, second = rng.choice(names), rng.choice(names)
    ill = rng.random() < 0.05
    tries = [{"model": first, "endpoint": 0, "fault": None, "status": 200, "begun_ms": 0, "elapsed_ms": 900}]
    return {
        "request_id": f"pm-{rng.randbytes(12).hex()}", "at": now_s - rng.random() * 30 * DAY_S,
        "app": f"app-{rng.randrange(20)}", "route": rng.choice(("assistant", "cockpit", "copy")), "scene": "chat",
        "session": rng.randbytes(8).hex(), "served_model": second if ill else first,
        "fallback": "model" if ill else "none", "status": 200, "code": "", "verdict": "clean", "loop_class": "",
        "attempts": tries, "metrics": {"trigram_repeat": 0.03}, "stream": True, "elapsed_ms": 1_900,
        "first_text_ms": 400, "tokens_in": 300, "tokens_out": 200,
    }  # fmt: skip


def _failed(rng: Random, row: dict[str, Any]) -> dict[str, Any]:
    kind, text, onset = rng.choice(LOOPS)
    return {
        "id": rng.randbytes(16).hex(), "request_id": row["request_id"], "at": row["at"],
        "model": row["attempts"][0]["model"], "scene": "chat", "fault": "repetition_detected", "loop_class": kind,
        "rules": ["cycle"], "metrics": {"trigram_repeat": 0.9}, "fingerprint": f"{rng.randrange(9):016x}",
        "onset": onset, "excerpt": text,
    }  # fmt: skip


async def measure(app: Any, model: str, request_id: str, session: str, turns: int) -> bool:
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://console", headers={"accept": "text/html"}, timeout=60
    )
    found = re.search(r'name="form_token" value="([^"]+)"', (await client.get("/login")).text)
    assert found is not None
    await client.post("/login", data={"form_token": found.group(1), "token": TOKEN, "actor": "bench"})
    links = re.findall(r'<li><a href="([^"]+)"', (await client.get("/")).text)
    more = [
        "/model?name=" + model,
        "/model/now?name=" + model,
        "/model/series?name=" + model,
        f"/request?id={request_id}",
    ]
    searches = [
        "/requests?span=30d",
        "/requests?span=30d&trouble=1",
        f"/requests?span=30d&session={session}",
        "/?level=open",
    ]
    fits = True
    print(f"{'page':<44} {'cpu least':>9} {'cpu median':>10} {'wall least':>10} {'wire bytes':>10}")
    for path in [*links, *more, *searches]:
        cpu, wall, size = [], [], 0
        for _ in range(turns):
            began, cpu_began = time.perf_counter(), time.process_time()
            async with client.stream("GET", path) as answer:
                size = sum([len(part) async for part in answer.aiter_raw()])
                assert answer.status_code == 200, (path, answer.status_code)
            cpu.append((time.process_time() - cpu_began) * 1000)
            wall.append((time.perf_counter() - began) * 1000)
        fits = fits and min(wall) <= LIMIT_MS and size <= LIMIT_BYTES
        shown = re.sub(r"pm-\w+|session=\w+", "…", path)
        print(f"{shown:<44} {min(cpu):>6.0f} ms {statistics.median(cpu):>7.0f} ms {min(wall):>7.0f} ms {size:>10,}")
    await client.aclose()
    return fits


async def main(models: int, calls: int, turns: int) -> bool:
    os.environ["POINTSMAN_ADMIN_TOKEN"] = TOKEN
    rng = Random(5)
    patients = many(models, rng)
    with tempfile.TemporaryDirectory(prefix="console-pages-") as folder:
        settings = parse(settings_text(Path(folder), patients), {})
        async with assembled(settings) as service:
            print(f"filling: {models} models, {calls:,} calls, 30 days of hours", flush=True)
            await fill(service, patients, calls, rng)
            await seed_counts(service, patients, rng)
        async with assembled(settings) as service:
            doors = await doors_of(service)
            rows = await service.stack.enter_async_context(service.engine.connect())
            newest = (await rows.execute(call.select().order_by(call.c.at.desc()).limit(1))).mappings().one()
            await asyncio.sleep(45)  # the first rounds of reading, which pages do not wait for
            fits = await measure(doors.doors[-1].app, patients[0].name, newest["request_id"], newest["session"], turns)
            for door in doors.doors:
                door.socket.close()
            return fits


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--models", type=int, default=200)
    options.add_argument("--calls", type=int, default=1_000_000)
    options.add_argument("--turns", type=int, default=9)
    given = options.parse_args()
    raise SystemExit(0 if asyncio.run(main(given.models, given.calls, given.turns)) else 1)

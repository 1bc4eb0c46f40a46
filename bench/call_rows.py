"""What a row of the call log costs PostgreSQL, written and deleted: `python -m bench.call_rows [--rows 60000]`.

Through the product's own writer (batches of 500) and retention (batches of 2,000); fsync is off, so that the disk of the
machine does not count. Writes bench/results/rows.json.
"""

import argparse
import asyncio
import json
import time
from contextlib import ExitStack
from random import Random
from typing import Any

import asyncpg

from base.ids import new_request_id
from bench.processes import RESULTS, NotMeasured, cpu_between, cpu_seconds
from router.ports import CallRow
from store.migrate import upgrade
from store.sql_calls import SqlCallLog
from store.sql_link import open_engine
from store.sql_retention import SqlRetention
from store.tables import call
from tests.support.postgres import NotHere, Postgres

MODELS, APPS, SESSIONS = 1_000, 20, 50_000


def row_of(at: float, rng: Random) -> CallRow:
    """As a plain request leaves it that the first model answered."""
    model = f"model-{rng.randrange(MODELS):04d}"
    tried = {"model": model, "endpoint": 0, "fault": None, "status": 200, "begun_ms": 0, "elapsed_ms": 900}
    return CallRow(
        request_id=new_request_id(), at=at, app=f"app-{rng.randrange(APPS)}", route="assistant", scene="chat",
        session=f"{rng.randrange(SESSIONS):016x}", served_model=model, fallback="none", status=200, code="",
        verdict="clean", loop_class="", attempts=(tried,), metrics={"trigram_repeat": 0.03, "char_repeat": 0.01},
        stream=True, elapsed_ms=1_900, first_text_ms=400, tokens_in=300, tokens_out=200,
    )  # fmt: skip


async def measured(url: str, server: int, rows: int) -> dict[str, Any]:
    """`server`: PostgreSQL's process, its children's time is counted with it."""
    await upgrade(url)
    engine, rng, now_s = open_engine(url), Random(7), time.time()
    log = SqlCallLog(engine, queue_rows=rows)
    for at in range(rows):
        log.add_call(row_of(now_s - 86_400 + at * 0.001, rng))
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        began, own, theirs = time.monotonic(), time.process_time(), cpu_seconds(server)
        await log.flush()
        wall, own = time.monotonic() - began, time.process_time() - own
        written = cpu_between(theirs, cpu_seconds(server))
        size = await connection.fetchval("select pg_total_relation_size('call')")
        theirs = cpu_seconds(server)
        gone = await SqlRetention(engine).older(call, "at", now_s)
        deleted = cpu_between(theirs, cpu_seconds(server))
        theirs = cpu_seconds(server)
        await connection.execute("vacuum call")
        vacuumed = cpu_between(theirs, cpu_seconds(server))
    finally:
        await connection.close()
        await engine.dispose()
    if gone != rows:
        raise NotMeasured(f"{rows} rows were handed over, {gone} deleted")
    return {
        "rows": rows,
        "bytes_per_row": size / rows,
        "rows_per_s": rows / wall,
        "writer_us_per_row": own / rows * 1e6,
        "database_us_per_row": written / rows * 1e6,
        "delete_us_per_row": deleted / rows * 1e6,
        "vacuum_us_per_row": vacuumed / rows * 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=60_000)
    given = parser.parse_args()
    with ExitStack() as stack:
        try:
            server = Postgres()
            stack.callback(server.close)
            server.start()
        except NotHere as error:
            raise SystemExit(f"NOT MEASURED: rows of the call log: {error}") from error
        url = server.url("postgres")
        found = asyncio.run(measured(url, server.pid, given.rows))
    print("  ".join(f"{name} {value:,.1f}" for name, value in found.items()))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "rows.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

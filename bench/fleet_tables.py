"""The measured parts and plots of docs/scaling.md: what the background costs, and what a large fleet comes to.

Arithmetic only over what was measured; each line says from which command its figures come.
"""

from math import ceil
from typing import Any

from bench.drawing import lines
from bench.figures import Figures, shown
from bench.request_tables import Row, table
from breaker.counting import KEPT_MIN

RATE, DENSE = 20.0, 500.0
"""Attempts a second of each replica as bench/scale.py takes them; of a busy one."""
FULL = 10
"""So few models that each writer has a row of each in every minute: the most that a minute takes in Redis."""
REQUESTS_S, MODELS, LOAD = 10_000, 1_000, 0.6
"""The fleet of the arithmetic; a router is planned at 60 % of a core."""
EVENTS, SCOPES, DAY_S = 50, 3, 86_400


def fleet_parts(figures: Figures) -> dict[str, list[str]]:
    return {"background": background(figures), "history": history(figures), "fleet": fleet(figures)}


def row_of(figures: Figures, models: int, replicas: int, minutes: int = 0, rate: float = RATE) -> dict[str, Any] | None:
    wanted = (models, replicas, minutes, rate)
    rows = figures.kept.get("scale", [])
    return next((r for r in rows if (r["models"], r["replicas"], r["minutes"], r["rate"]) == wanted), None)


def leader_ms(figures: Figures, models: int) -> float | None:
    row = row_of(figures, models, 1)
    return row and row["cpu_ms_per_replica_second"]


def other_ms(figures: Figures, models: int) -> float | None:
    """Of eight one leads, and is taken to cost what one alone does."""
    eight, one = row_of(figures, models, 8), leader_ms(figures, models)
    return None if eight is None or one is None else (8 * eight["cpu_ms_per_replica_second"] - one) / 7


def background(figures: Figures) -> list[str]:
    rows: list[Row] = []
    for models in sorted({r["models"] for r in figures.kept.get("scale", [])}):
        one, eight = row_of(figures, models, 1) or {}, row_of(figures, models, 8) or {}
        rows.append(
            (
                f"{models:,}",
                shown(leader_ms(figures, models), 1),
                shown(other_ms(figures, models), 1),
                shown(one.get("commands_per_second")),
                shown(eight.get("commands_per_second")),
                shown(one.get("kilobytes_per_second")),
                shown(eight.get("kilobytes_per_second")),
                shown(one.get("bytes_per_minute_row")),
                shown(eight.get("bytes_per_minute_row")),
            )
        )
    head = (
        "models", "leader, ms of CPU a second", "each other of eight", "Redis commands a second, 1 replica", "8 replicas",
        "kB a second, 1 replica", "8 replicas", "bytes in Redis per model and minute, 1 replica", "8 replicas",
    )  # fmt: skip
    return table(head, rows)


def history(figures: Figures) -> list[str]:
    rows = [
        (
            str(r["minutes"]),
            shown(r["cpu_ms_per_replica_second"], 1),
            shown(r["commands_per_second"]),
            shown(r["kilobytes_per_second"]),
        )
        for r in figures.kept.get("scale", [])
        if r["minutes"]
    ]
    return table(("minutes of counts there", "leader, ms of CPU a second", "commands a second", "kB a second"), rows)


def fleet(figures: Figures) -> list[str]:
    """Each part: from what, and what it comes to."""
    rows = [*_routers(figures), *_redis(figures), *_sql(figures)]
    return table(("part", "measured", "by", "comes to"), rows)


def _routers(figures: Figures) -> list[Row]:
    request, start, event = (
        figures.request_us("100 models"),
        figures.start_us("100 models"),
        figures.event_us("100 models"),
    )
    idle, after = figures.resident_mb("100 models"), figures.resident_mb("memory", "rss_end_mb")
    counter = figures.kept.get("counters", {}).get("bytes_per_row")
    cores = request and request * REQUESTS_S / 1e6
    workers = cores and ceil(cores / LOAD)
    streams = None if start is None or event is None else (start + EVENTS * event) * REQUESTS_S / 1e6
    kept = counter and counter * MODELS * KEPT_MIN * SCOPES / 1e6
    each = None if after is None or kept is None else after + kept
    return [
        ("routers, plain requests", f"{shown(request)} µs a request, route of 100 models", "`make bench-full`", f"{shown(cores, 1)} cores; at {LOAD:.0%} load {shown(workers)} workers"),
        (f"routers, streams of {EVENTS} events", f"{shown(start)} µs a start, {shown(event, 1)} µs an event", "`make bench-full`", f"{shown(streams, 1)} cores; at {LOAD:.0%} load {shown(streams and ceil(streams / LOAD))} workers"),
        ("counts kept in a router", f"{shown(counter)} bytes a row of one model, minute and scope", "`python -m bench.scale`", f"{shown(kept)} MB when all {MODELS:,} models answer in every one of {KEPT_MIN} minutes, {SCOPES} scopes"),
        ("memory of a router", f"{shown(idle)} MB idle with 2 × 100 models, {shown(after)} MB after 100,000 requests", "`make bench-full`", f"{shown(each)} MB; {shown(workers)} workers: {shown(each and workers and each * workers / 1e3, 1)} GB"),
    ]  # fmt: skip


def _redis(figures: Figures) -> list[Row]:
    one, eight, dense = row_of(figures, FULL, 1), row_of(figures, FULL, 8), row_of(figures, MODELS, 1, rate=DENSE)
    us = figures.request_us("100 models")
    writers = us and ceil(us * REQUESTS_S / 1e6 / LOAD)
    size = commands = traffic = None
    if one and eight and writers:
        each = (eight["bytes_per_minute_row"] - one["bytes_per_minute_row"]) / 7
        size = (one["bytes_per_minute_row"] + each * (writers - 1)) * MODELS * (KEPT_MIN + 2) / 1e9
    if dense and writers:
        commands = dense["commands_per_second"] * writers
        traffic = dense["kilobytes_per_second"] * writers / 1e3
    per_replica = writers and REQUESTS_S / writers
    lead = leader_ms(figures, MODELS)
    told = dense and dense["cpu_ms_per_replica_second"]
    return [
        ("Redis, memory", f"{shown(one and one['bytes_per_minute_row'])} bytes a model and minute of one writer, {shown(eight and eight['bytes_per_minute_row'])} of eight", "`python -m bench.scale`", f"{shown(size, 1)} GB with {shown(writers)} writers, {KEPT_MIN + 2} minutes"),
        ("Redis, commands", f"{shown(dense and dense['commands_per_second'])} a second and {shown(dense and dense['kilobytes_per_second'])} kB a second of one replica at {DENSE:g} attempts a second over {MODELS:,} models", "the same", f"{shown(commands)} a second, {shown(traffic)} MB a second, if each of {shown(writers)} does so (its share is {shown(per_replica)} attempts a second)"),
        ("background of a replica", f"{shown(lead)} ms of CPU a second at {RATE:g} attempts a second, {shown(told)} at {DENSE:g}, leading", "the same", f"{shown(told and told / 10, 1)} % of a core; the leader reads a field for each writer"),
    ]  # fmt: skip


def _sql(figures: Figures) -> list[Row]:
    rows = figures.kept.get("rows", {})
    size, write, delete, own = (
        rows.get(n) for n in ("bytes_per_row", "database_us_per_row", "delete_us_per_row", "writer_us_per_row")
    )
    return [
        ("call rows, disk", f"{shown(size)} bytes a row with its indexes", "`python -m bench.call_rows`", f"{shown(size and size * REQUESTS_S * DAY_S / 1e9)} GB a day"),
        ("call rows, written", f"{shown(write)} µs of PostgreSQL's CPU a row, {shown(own)} µs of the router's (within its figure above)", "the same", f"{shown(write and write * REQUESTS_S / 1e6, 2)} cores of PostgreSQL"),
        ("call rows, deleted by `retention`", f"{shown(delete)} µs of PostgreSQL's CPU a row", "the same", f"{shown(delete and delete * REQUESTS_S / 1e6, 2)} cores more; none with partitions, which are dropped whole"),
    ]  # fmt: skip


def fleet_plots(figures: Figures) -> dict[str, str]:
    rows = [r for r in figures.kept.get("scale", []) if r["rate"] == RATE]
    models = sorted({r["models"] for r in rows if not r["minutes"]})
    leader = [(float(m), ms) for m in models if (ms := leader_ms(figures, m)) is not None]
    other = [(float(m), max(ms, 0.1)) for m in models if (ms := other_ms(figures, m)) is not None]
    out: dict[str, str] = {}
    if leader and other:
        series = {"the one that leads": leader, "each other of eight": other}
        out["background"] = lines(
            series,
            title="What the breaker's background costs a replica",
            across="models",
            up="ms of CPU a second",
            log_y=True,
        )
    past = [(float(r["minutes"]), r["cpu_ms_per_replica_second"]) for r in rows if r["minutes"]]
    if past:
        out["history"] = lines(
            {"100 models, one replica": past},
            title="The leader by minutes of history",
            across="minutes of counts in Redis",
            up="ms of CPU a second",
            log_x=False,
        )
    return out

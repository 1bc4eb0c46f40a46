"""A small live view of where each model stands, for the terminal of `make run`."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from base.clock import Clock
from breaker.guard import Guard
from breaker.levels import Level
from breaker.share import shares
from pointsman.cli import words
from router.topology import Route

COLOURS = {
    Level.HEALTHY: "green",
    Level.WARN: "yellow",
    Level.REDUCED: "dark_orange",
    Level.OPEN: "red",
    Level.RECOVERING: "cyan",
}


def table(guard: Guard, route: Route, clock: Clock, reduced_share: float) -> Table:
    """Each model of `route`: level, share of traffic, replies and repeats of the last 10 minutes on this replica, why."""
    levels = guard.levels()
    parts = shares(route.candidates, levels, reduced_share=reduced_share)
    out = empty(route.name)
    for candidate in route.candidates:
        out.add_row(*row(guard, candidate.model, levels, parts, clock))
    return out


def empty(route: str) -> Table:
    """Names and levels come whole in a narrow terminal; what else does not fit goes on in the next line."""
    out = Table(title=f"route {route}", title_justify="left", expand=False)
    for column in ("model", "level", "share", "replies", "repeats", "since", "why"):
        right, whole = column in ("share", "replies", "repeats"), column in ("model", "level")
        out.add_column(column, justify="right" if right else "left", no_wrap=whole, overflow="fold")
    return out


def row(
    guard: Guard, model: str, levels: Mapping[str, Level], parts: Mapping[str, float], clock: Clock
) -> Sequence[str]:
    level, snapshot = levels[model], guard.snapshot(model)
    first = int((clock.now_s() - 600) // 60)
    minutes = [r for r in guard.counters.local(model)[0] if r.scope == "" and r.minute >= first]
    judged, repeats = sum(r.counts.judged for r in minutes), sum(r.counts.repeats for r in minutes)
    since = words.span(clock.now_s() - snapshot.since) if snapshot.since else ""
    why = ", ".join(words.reason(reason) for reason in snapshot.reasons)
    colour = COLOURS[level]
    return (model, f"[{colour}]{words.level(level)}[/]", f"{parts[model]:.0%}", str(judged), str(repeats), since, why)

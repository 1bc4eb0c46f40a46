"""The fleet: trouble first and loud, the rest in one quiet table; live by a nudge, then a fetch of the piece that changed."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from markupsafe import escape
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from base.switch import Switch
from breaker.levels import Level
from breaker.policy import BreakerPolicy
from breaker.ports import StoreUnavailable
from console.csv_out import Sheet
from console.feed import Feed
from console.fleet_now import FleetNow, Row, Wanted, moved_lately
from console.fleet_ports import Yard
from console.refusals import REFUSED, gravest, words_of
from console.render import iso, moment
from console.site import Site, Visit, looks
from console.switch_ports import Switches
from console.why import next_lines, reasons, rule_line

HEARTBEAT_S = 10.0
LOOK_S = 1.0
MOMENT = "\0"
"""Where a moment goes in a sentence that is still to be escaped."""
STALE_S = 90.0
"""Counts older than this are said to be old: several rounds of reading failed."""


def lines_of(policy: BreakerPolicy) -> tuple[float, float, float]:
    """The three lines every chart is drawn against."""
    return (policy.warn_ratio, policy.reduce_ratio, policy.open_ratio)


def fleet_routes(
    site: Site, yard: Yard, feed: Feed, switches: Switches | None, stopping: Callable[[], bool]
) -> list[Route]:
    async def page(visit: Visit) -> Response:
        fleet = await feed.now()
        template = "fleet_body.html" if visit.partial else "fleet.html"
        values = fleet_values(visit, fleet, yard)
        sheets = {"fleet": _sheet([*values["troubled"], *values["quiet"]], visit)}
        return visit.page(template, sheets=sheets, **values, switched=await _switched(switches))

    async def live(visit: Visit) -> Response:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(_nudges(feed, stopping), media_type="text/event-stream", headers=headers)

    return [looks(site, "/", page), looks(site, "/live", live)]


def fleet_values(visit: Visit, fleet: FleetNow, yard: Yard) -> dict[str, Any]:
    """What the fleet's templates are given."""
    wanted = Wanted(**{name: visit.asked(name) for name in ("route", "scene", "vendor", "level", "text")})
    shown = [row for row in fleet.rows if wanted.takes(row)]
    known = [row.known_as for row in fleet.rows]
    return {
        "fleet": fleet,
        "wanted": wanted,
        "query": {name: getattr(wanted, name) for name in Wanted.__dataclass_fields__},
        "troubled": [row for row in shown if row.troubled],
        "quiet": [row for row in shown if not row.troubled],
        "routes": sorted({route for one in known for route in one.routes}),
        "scenes": sorted({scene for one in known for scene in one.scenes}),
        "vendors": sorted({one.vendor for one in known if one.vendor}),
        "levels": [*(level.value for level in Level), REFUSED],
        "lines": lines_of(yard.policy),
        "lately": moved_lately(shown, fleet.at),
        "stale": fleet.age_s > STALE_S,
        "why": lambda row: why_of(row, visit),
        "next": lambda row: next_of(row, visit, yard.policy),
    }


COLUMNS = (
    "model", "vendor", "level", "stands", "mode", "since", "judged_10m", "repeats_10m", "ratio_10m", "enough_to_tell",
    "requests_per_min", "hard_failures_10m", "routes", "shares_in_force", "shares_configured", "reasons", "why",
)  # fmt: skip


def _sheet(rows: Sequence[Row], visit: Visit) -> Sheet:
    return Sheet(
        columns=COLUMNS,
        rows=(
            (
                row.model, row.known_as.vendor, row.level, row.stands, row.snapshot.mode, row.snapshot.since or None, row.n, row.k,
                row.ratio, row.known, row.per_min, row.hard, [share.route for share in row.shares],
                [f"{share.effective:.4g}" for share in row.shares],
                [f"{share.configured:.4g}" for share in row.shares],
                [reason.value for reason in row.snapshot.reasons], why_of(row, visit),
            )
            for row in rows
        ),
    )  # fmt: skip


def why_of(row: Row, visit: Visit) -> str:
    """Its strongest reason in one line: that it is refused to us, the rule that fires now, else what moved it last."""
    if row.stands == REFUSED:
        return refusal_of(row, visit)
    fired = [reading for reading in row.explanation.rules if reading.fired] if row.explanation else []
    if fired and row.snapshot.mode.value == "auto":
        return rule_line(max(fired, key=lambda reading: reading.level.severity), visit.words).words
    if row.forced:
        return visit.words("why.forced", actor=row.snapshot.mode_actor, reason=row.snapshot.mode_reason)
    return reasons(row.snapshot, visit.words)


def next_of(row: Row, visit: Visit, policy: BreakerPolicy) -> list[str]:
    """What happens next, soonest first."""
    lines = next_lines(row.snapshot, row.explanation, policy, visit.site.clock.now_s(), visit.words)
    if row.stands == REFUSED:
        return [visit.words("refusal.do"), *lines[1:]]  # the first speaks of a level that moves by replies
    return [refusal_of(row, visit), *lines] if row.refusals else lines


def refusal_of(row: Row, visit: Visit) -> str:
    """In a sentence; on a page its moment is told in the reader's own zone."""
    clock, again_at = visit.site.clock, gravest(row.refusals).again_at
    if visit.csv:
        return words_of(row.refusals, clock.now_s(), visit.words, lambda at: iso(clock, at))
    said = words_of(row.refusals, clock.now_s(), visit.words, lambda _: MOMENT)
    return escape(said).replace(MOMENT, moment(clock, again_at))


async def _switched(switches: Switches | None) -> list[Switch]:
    """What is switched off now: whoever looks at the fleet must know before they wonder."""
    if switches is not None:
        with contextlib.suppress(StoreUnavailable):
            now_s = switches.now_s()
            return [switch for switch in await switches.switches() if switch.holds(now_s)]
    return []


async def _nudges(feed: Feed, stopping: Callable[[], bool]) -> AsyncIterator[str]:
    """`fleet` events with the version that can be fetched; a comment now and then, so that proxies keep the line open."""
    feed.watchers += 1
    try:
        version, silent_s = feed.version, 0.0
        yield f"retry: 3000\nevent: hello\ndata: {version}\n\n"
        while not stopping():
            newest = await feed.change_after(version, LOOK_S)
            if newest != version:
                version, silent_s = newest, 0.0
                yield f"event: fleet\ndata: {version}\n\n"
            elif (silent_s := silent_s + LOOK_S) >= HEARTBEAT_S:
                silent_s = 0.0
                yield f"event: beat\ndata: {version}\n\n"
    finally:
        feed.watchers -= 1

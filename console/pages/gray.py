"""Gray releases: both arms side by side with their intervals, every move, and what a person may do."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from breaker.gray import GrayRelease
from console.csv_out import Sheet, mappings
from console.fleet_ports import AuditTrail
from console.forms import reason_of
from console.gray_api import GrayRefused, Grays
from console.site import Site, Visit, acts, looks

HISTORY = 30
COMMANDS = ("step", "pause", "resume", "stop", "promote")
MAY = {
    "running": ("step", "pause", "stop", "promote"),
    "paused": ("resume", "stop"),
    "waiting": ("step", "stop", "promote"),
}
"""What makes sense where a release stands; the keeper has the last word."""


RELEASE = ("id", "model", "candidate", "version", "stage", "reason", "share", "started_at", "ended_at")
EVENT = ("at", "stage", "reason", "share", "actor", "note")
ARM = ("judged", "repeats", "repeat_ratio", "repeat_interval", "attempts", "hard", "hard_ratio")


def _arms(releases: Sequence[Mapping[str, Any]]) -> Sheet:
    """Two rows a release: the new version and the stable one."""
    return Sheet(
        columns=("id", "model", "candidate", "arm", *ARM),
        rows=(
            [one["id"], one["model"], one["candidate"], arm, *(one[arm].get(name) for name in ARM)]
            for one in releases
            for arm in ("gray", "stable")
        ),
    )


def gray_pages(site: Site, grays: Grays, audit: AuditTrail) -> list[Route]:
    async def page(visit: Visit) -> Response:
        standing = [grays.report(release) for release in await grays.standing()]
        standing = [one for one in standing if one["stage"] in MAY]
        past = [grays.report(release) for release in await grays.history(None, visit.most(HISTORY))]
        ended = [one for one in past if one["stage"] not in MAY]
        return visit.page(
            "gray.html",
            standing=standing,
            ended=ended,
            sheets={"arms": _arms(standing), "releases": mappings(ended, *RELEASE)},
            models=list(grays.models()),
            may=MAY,
        )

    async def one(visit: Visit) -> Response:
        release = await grays.find(visit.asked("id"))
        if release is None:
            raise KeyError(visit.asked("id"))
        told = grays.report(release)
        sheets = {"arms": _arms([told]), "moves": mappings(told["events"], *EVENT)}
        return visit.page("gray_one.html", one=told, sheets=sheets)

    async def start(visit: Visit) -> Response:
        form = visit.form
        model, candidate = form.one_of("model", list(grays.models())), form.one_of("candidate", list(grays.models()))
        version, by_itself, reason = form.text("version", most=256), form.raw("by_itself") == "1", reason_of(form)
        details = {"candidate": candidate, "version": version, "by_itself": by_itself}
        await audit.record(
            actor=visit.actor, action="gray_start", target=model, reason=reason, details=details, role=visit.role.value
        )
        begun = grays.start(model, candidate, version=version, by_itself=by_itself, actor=visit.actor, note=reason)
        return await done(visit, begun, "gray_started")

    async def command(visit: Visit) -> Response:
        form = visit.form
        model, word, reason = form.one_of("model", list(grays.models())), form.one_of("word", COMMANDS), reason_of(form)
        commands: dict[str, Callable[[str, str, str], Awaitable[GrayRelease]]] = {
            "step": grays.step,
            "pause": grays.pause,
            "resume": grays.resume,
            "stop": grays.stop,
            "promote": grays.promote,
        }
        await audit.record(
            actor=visit.actor, action=f"gray_{word}", target=model, reason=reason, details={}, role=visit.role.value
        )
        return await done(visit, commands[word](model, visit.actor, reason), f"gray_{word}")

    async def done(visit: Visit, act: Awaitable[GrayRelease], said: str) -> Response:
        try:
            await act
        except GrayRefused as refused:
            return visit.problem(409, "problem.gray", text=str(refused))
        return visit.away("/gray", said=said)

    return [
        looks(site, "/gray", page),
        looks(site, "/gray/release", one),
        acts(site, "/gray/start", start),
        acts(site, "/gray/command", command),
    ]

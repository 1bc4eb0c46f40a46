"""The plain tables: who did what (audit log), who may call (keys), what runs by the clock (jobs)."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from console.access import Role
from console.csv_out import mappings, records
from console.fleet_ports import NOT_DONE, Act, AuditTrail
from console.forms import BadForm, Form, reason_of
from console.jobs_api import ClockJobs, JobRefused
from console.key_ports import KeyRing, KeyRow
from console.site import Site, Visit, acts, looks

PAGE = 100
MOMENTS = frozenset({"until", "starts_at", "ends_at"})


def audit_routes(site: Site, audit: AuditTrail) -> list[Route]:
    def sought(visit: Visit) -> dict[str, Any]:
        fields: dict[str, Any] = {name: visit.asked(name) for name in ("actor", "action", "target")}
        before = visit.asked("before", most=32)
        return {**fields, "before": float(before) if before.replace(".", "", 1).isdigit() else None}

    async def page(visit: Visit) -> Response:
        asked = sought(visit)
        found = list(await audit.acts(**asked, limit=visit.most(PAGE + 1)))
        query = {name: value for name, value in asked.items() if value and name != "before"}
        older = {**query, "before": repr(found[PAGE - 1].at)} if len(found) > PAGE else None
        return visit.page(
            "audit.html",
            found=found[:PAGE],
            sought=asked,
            actions=_actions(visit, asked["action"]),
            query=query,
            older=older,
            details=details_of,
            moments=MOMENTS,
            sheets={"audit": records(found, *Act.__dataclass_fields__, "outcome")},
        )

    return [looks(site, "/audit", page)]


def _actions(visit: Visit, sought: str) -> list[str]:
    """Every act there are words for, by those words; one that an address asks for and nobody knows stands too."""
    known = {key.removeprefix("act.") for key in visit.words.keys if key.startswith("act.")}
    return sorted(known | ({sought} if sought else set()), key=lambda word: visit.words(f"act.{word}"))


def details_of(details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Name and value of what was said more, empty ones left out; numbers without a tail of zeros."""
    return [
        (name, f"{value:g}" if isinstance(value, float) and name not in MOMENTS else value)
        for name, value in details.items()
        if name != NOT_DONE and value not in ("", None, 0, 0.0, {}, [])
    ]


def key_routes(site: Site, keys: KeyRing, audit: AuditTrail) -> list[Route]:
    def opens(rows: Sequence[KeyRow]) -> bool:
        """Whether anybody may call, until the first key is made: once there was one, keys are asked for, for good."""
        return not rows and not keys.required()

    async def page(visit: Visit, made: str = "", app: str = "", was_open: bool = False) -> Response:
        rows = await keys.all()
        sheets = {"keys": records(rows, *KeyRow.__dataclass_fields__)}
        return visit.page(
            "keys.html",
            sheets=sheets,
            rows=rows,
            routes=keys.routes(),
            made=made,
            app=app,
            open=opens(rows),
            was_open=was_open,
        )

    async def shown(visit: Visit) -> Response:
        return await page(visit)

    async def make(visit: Visit) -> Response:
        form = visit.form
        app, reason = form.text("app", least=1, most=100), reason_of(form)
        routes = form.all("route")
        for route in routes:
            Form({"route": [route]}).one_of("route", list(keys.routes()))
        wanted: dict[str, Any] = {
            "routes": routes or None,
            "per_minute": _limit(form, "per_minute"),
            "tokens_per_minute": _limit(form, "tokens_per_minute"),
            "max_concurrent": _limit(form, "max_concurrent"),
            "support": form.raw("support") == "1",
        }
        was_open = opens(await keys.all())
        if was_open and form.raw("cuts_off") != "1":
            raise BadForm("cuts_off", "confirm")
        await audit.record(
            actor=visit.actor, action="create_key", target=app, reason=reason, details=wanted, role=visit.role.value
        )
        # Shown on this very answer and never again: a redirect would put it into an address.
        key = await keys.make(app, by=visit.actor, **wanted)
        return await page(visit, made=key, app=app, was_open=was_open)

    async def revoke(visit: Visit) -> Response:
        id_, reason = visit.form.text("id", least=1, most=64), reason_of(visit.form)
        await audit.record(
            actor=visit.actor, action="revoke_key", target=id_, reason=reason, details={}, role=visit.role.value
        )
        if not await keys.revoke(id_):
            raise KeyError(id_)
        return visit.away("/keys", said="key_revoked")

    return [
        looks(site, "/keys", shown),
        acts(site, "/keys/make", make, Role.ADMIN),
        acts(site, "/keys/revoke", revoke, Role.ADMIN),
    ]


def _limit(form: Form, name: str) -> int | None:
    return int(form.number(name, least=1, most=1_000_000_000)) if form.raw(name).strip() else None


def job_routes(site: Site, jobs: ClockJobs, audit: AuditTrail) -> list[Route]:
    async def page(visit: Visit) -> Response:
        listed = list(await jobs.jobs())
        name = visit.asked("name")
        runs = list(await jobs.runs(name, visit.most(PAGE))) if name in jobs.names() else []
        sheets = {
            "jobs": mappings(listed, "job", "cron", "timezone", "next_at", "last"),
            "runs": mappings(runs, "slot", "state", "started_at", "ended_at", "detail"),
        }
        return visit.page("jobs.html", jobs=listed, name=name, runs=runs, sheets=sheets)

    async def run(visit: Visit) -> Response:
        name, reason = visit.form.one_of("name", list(jobs.names())), reason_of(visit.form)
        await audit.record(
            actor=visit.actor, action="run_job", target=name, reason=reason, details={}, role=visit.role.value
        )
        try:
            await jobs.ask(name, visit.actor)
        except JobRefused as refused:
            return visit.problem(409, "problem.job", text=visit.words(f"jobs.{refused.why}"))
        return visit.away("/jobs", name=name, said="job_asked")

    return [looks(site, "/jobs", page), acts(site, "/jobs/run", run)]

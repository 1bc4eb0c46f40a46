"""What others found: users' complaints (the anomaly list), the hourly watch, nightly evaluations and daily reports."""

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from console.anomalies_api import Anomalies
from console.csv_out import csv_answer
from console.forms import reason_of
from console.ports import AuditTrail, Reports
from console.site import Site, Visit, acts, looks
from console.watch_api import Watched

FINDINGS_S = 7 * 86_400.0
ROWS = 100
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; sandbox"
"""A report is one file with its styles inside; it runs nothing and asks nobody, and is shown as if from elsewhere."""


def feedback_pages(site: Site, anomalies: Anomalies, watched: Watched | None, audit: AuditTrail) -> list[Route]:
    async def page(visit: Visit) -> Response:
        since = visit.site.clock.now_s() - FINDINGS_S
        return visit.page(
            "feedback.html",
            listed=list(await anomalies.listed()),
            history=list(await anomalies.history(None, ROWS)),
            findings=list(await watched.findings(None, None, since, ROWS)) if watched else [],
        )

    async def as_csv(visit: Visit) -> Response:
        names = (
            "model",
            "day",
            "users",
            "complaints",
            "threshold",
            "expected",
            "chance",
            "left_at",
            "left_why",
            "left_by",
        )
        rows = ([one.get(name) for name in names] for one in await anomalies.history(None, 500))
        return csv_answer("anomalies", names, rows)

    async def dismiss(visit: Visit) -> Response:
        model, reason = visit.form.one_of("model", list(anomalies.models())), reason_of(visit.form)
        await audit.record(
            actor=visit.actor, action="dismiss_anomaly", target=model, reason=reason, details={}, role=visit.role.value
        )
        if not await anomalies.dismiss(model, visit.actor, reason):
            return visit.problem(409, "problem.over", text=model)
        return visit.away("/feedback", said="dismissed")

    return [
        looks(site, "/feedback", page),
        looks(site, "/feedback.csv", as_csv),
        acts(site, "/feedback/dismiss", dismiss),
    ]


def report_pages(site: Site, reports: Reports) -> list[Route]:
    async def page(visit: Visit) -> Response:
        return visit.page("reports.html", days=list(await reports.days(62)), runs=list(await reports.runs(30)))

    async def day(visit: Visit) -> Response:
        found = await reports.html(visit.request.path_params["day"], visit.language)
        if found is None:
            raise KeyError(visit.request.path_params["day"])
        return HTMLResponse(found, headers={"content-security-policy": REPORT_POLICY})

    return [looks(site, "/reports", page), looks(site, "/reports/{day}", day)]

"""What others found: users' complaints (the anomaly list) and the hourly watch."""

from starlette.responses import Response
from starlette.routing import Route

from console.anomalies_api import Anomalies
from console.csv_out import mappings
from console.fleet_ports import AuditTrail
from console.forms import reason_of
from console.site import Site, Visit, acts, looks
from console.watch_api import Watched

FINDINGS_S = 7 * 86_400.0
ROWS = 100
ANOMALY = ("model", "day", "users", "complaints", "threshold", "expected", "chance", "left_at", "left_why", "left_by")
FINDING = ("at", "kind", "model", "scene", "until", "standing", "numbers", "facts")


def feedback_pages(site: Site, anomalies: Anomalies, watched: Watched | None, audit: AuditTrail) -> list[Route]:
    async def page(visit: Visit) -> Response:
        since = visit.site.clock.now_s() - FINDINGS_S
        history = list(await anomalies.history(None, visit.most(ROWS)))
        findings = list(await watched.findings(None, None, since, visit.most(ROWS))) if watched else []
        return visit.page(
            "feedback.html",
            listed=list(await anomalies.listed()),
            history=history,
            findings=findings,
            sheets={"anomalies": mappings(history, *ANOMALY), "findings": mappings(findings, *FINDING)},
        )

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
        acts(site, "/feedback/dismiss", dismiss),
    ]

"""What is kept how long: joins the retention policy to the tables.

A table added here is bounded; one that is not grows for ever.
"""

from base.clock import Clock
from monitor.policy import RetentionPolicy
from store.sql_jobs import SqlJobs
from store.sql_retention import SqlRetention
from store.tables import (
    alert_outbox,
    alert_try,
    anomaly,
    call,
    day_count,
    failed_reply,
    feedback,
    finding,
    gray_release,
    hour_count,
    incident,
    incident_event,
    model_version,
    silence,
    transition,
)

DAY_S = 86_400.0


async def forget_old(rows: SqlRetention, jobs: SqlJobs, policy: RetentionPolicy, clock: Clock) -> int:
    """Delete what is past its time or its number; how many rows went. Raises StoreUnavailable."""
    now_s = clock.now_s()
    kept = (
        (failed_reply, "at", policy.failed_days, policy.failed_rows),
        (call, "at", policy.calls_days, policy.calls_rows),
        (feedback, "at", policy.feedback_days, None),
        (transition, "at", policy.transitions_days, None),
        (hour_count, "starts_at", policy.hours_days, None),
        (day_count, "starts_at", policy.days_days, None),
        (gray_release, "started_at", policy.findings_days, None),
        (anomaly, "listed_at", policy.findings_days, None),
        (finding, "at", policy.findings_days, None),
        (model_version, "last_at", policy.findings_days, None),
        (incident, "resolved_at", policy.alerts_days, None),
        (incident_event, "at", policy.alerts_days, None),
        (silence, "ends_at", policy.alerts_days, None),
        (alert_outbox, "created_at", policy.alerts_days, None),
        (alert_try, "at", policy.alerts_days, None),
    )
    gone = 0
    for table, moment, days, most in kept:
        gone += await rows.older(table, moment, now_s - days * DAY_S)
        if most is not None:
            gone += await rows.beyond(table, moment, most)
    return gone + await jobs.forget(now_s - policy.jobs_days * DAY_S)

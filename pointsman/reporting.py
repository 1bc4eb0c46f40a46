"""Joins a night, the nights before it and yesterday's traffic to the daily report, and tells that it is there.

The report is written when the run ends and told in the morning: two jobs, so that a night that ends late is told late.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import Clock
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.alerts.templates import LANGUAGES
from monitor.cron import Cron
from monitor.jobs import Job
from monitor.jobs import Run as Slot
from monitor.nightly.night import Night
from monitor.nightly.policy import NightlyPolicy
from monitor.report.build import TREND_DAYS, part, report_of
from monitor.report.digest import digest
from monitor.report.document import Point, Report, from_document, to_document
from pointsman.assemble import Service
from store.sql_evals import SqlEvals
from store.sql_reports import SqlReports

log = logging.getLogger("pointsman")
DAY_S = 86_400.0


class ReportMissing(Exception):
    """The night's report is not there yet: the run is still going on, or failed. Tried again."""


def day_of(at: float, zone: str) -> str:
    """The calendar day (`2026-01-31`) of a moment."""
    return datetime.fromtimestamp(at, ZoneInfo(zone)).date().isoformat()


def midnight(day: str, zone: str) -> float:
    """When that day begins."""
    return datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)).timestamp()


async def made_report(
    night: Night, engine: AsyncEngine, policy: NightlyPolicy, zone: str, now_s: float, *, day: str | None = None
) -> Report:
    """The report of a night, with the trend before it and the live traffic of the day before. Raises StoreUnavailable."""
    day = day or day_of(night.run.started_at, zone)
    began = midnight(day, zone)
    history = await SqlEvals(engine).history(began - (TREND_DAYS - 1) * DAY_S, began)
    trend = {
        (day_of(one.at, zone), one.model): Point(day=day_of(one.at, zone), model=one.model, total=part(one.tally))
        for one in history
        if one.run_id != night.run.id
    }
    yesterday = (datetime.fromisoformat(day) - timedelta(days=1)).date().isoformat()
    live = await SqlReports(engine).live(midnight(yesterday, zone), began)
    return report_of(
        night, policy, day=day, timezone=zone, now_s=now_s, trend=[trend[key] for key in sorted(trend)], live=live
    )


async def keep_report(night: Night, engine: AsyncEngine, policy: NightlyPolicy, zone: str, clock: Clock) -> Report:
    """Make the report and keep it under its day. Raises StoreUnavailable."""
    report = await made_report(night, engine, policy, zone, clock.now_s())
    await SqlReports(engine).keep(report.day, report.made_at, report.run_id, to_document(report))
    return report


def owes_report(evaluate: Cron, slot: Slot) -> bool:
    """Whether the morning of `slot` has a night to tell of: none where runs are due on weekdays only and it is Sunday."""
    return slot.by_hand or evaluate.latest(slot.due_at - DAY_S, slot.due_at)[0] is not None


async def report_of_the_night(engine: AsyncEngine, at: float) -> Mapping[str, Any] | None:
    """The document that a report told at `at` would tell; None: no night has ended since a day before. Raises StoreUnavailable."""
    reports = SqlReports(engine)
    # By the moment and not by the day: a run that begins before midnight is last night's all the same.
    fresh = [entry for entry in await reports.reports(2) if entry.at > at - DAY_S]
    return await reports.report(fresh[0].day) if fresh else None


def report_job(service: Service) -> Job:
    """Tells in the morning what the night found."""
    settings = service.settings
    zone = settings.monitor.timezone

    async def work(slot: Slot) -> None:
        if not owes_report(evaluate, slot):
            log.info("report %s: no run was due in the day before", slot.slot)
            return
        kept = await report_of_the_night(service.engine, slot.due_at)
        if kept is None:
            raise ReportMissing("the night's run has not ended, or failed")
        # Its moment is the slot's: a run that died after it was handed in and comes again tells nothing twice.
        await service.desk.fire(alert_of(from_document(kept), slot.due_at))

    cron, evaluate = Cron(settings.nightly.report, zone), Cron(settings.nightly.evaluate, zone)
    return Job(name="report", cron=cron, work=work, tries=5, backoff_s=900.0, catch_up_s=12 * 3_600.0)


def alert_of(report: Report, at: float) -> Alert:
    return Alert(
        kind=AlertKind.DAILY_REPORT,
        subject=report.day,
        severity=Severity.INFO,
        at=at,
        facts={
            "day": report.day,
            "run": report.run_id,
            "markdown": {language: digest(report, language) for language in LANGUAGES},
            "worse": [model.model for model in report.worse],
            "models": len(report.models),
        },
    )

"""The daily report over SQLite and PostgreSQL: the trend before it, yesterday's traffic, and the digest that is told."""

from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.alerts.alert import AlertKind
from monitor.nightly.night import Night
from monitor.nightly.records import RunState
from monitor.report.document import Part, from_document
from pointsman.reporting import DAY_S, alert_of, keep_report, made_report, midnight
from router.ports import CallRow, FailedReply
from store.sql_calls import SqlCallLog
from store.sql_evals import SqlEvals
from store.sql_reports import SqlReports
from tests.support.clock import ManualClock
from tests.support.evals import RUN, result
from tests.support.reports import POLICY, night

ZONE = "Asia/Shanghai"
DAY = "2026-01-31"


async def nights(engine: AsyncEngine, last: Night) -> None:
    """Two earlier nights, one that is too old, and the last one itself."""
    evals = SqlEvals(engine)
    for name, days in (("n-1", 1), ("n-2", 2), ("n-15", 15)):
        await evals.begin(replace(RUN, id=name, started_at=last.run.started_at - days * DAY_S))
        await evals.add([replace(result(n, ill=n < 2), run_id=name, model="qwen-plus") for n in range(4)])
        await evals.finish(name, RunState.DONE, last.run.started_at - days * DAY_S + 600)
    await evals.begin(last.run)
    await evals.add(last.results)
    await evals.finish(last.run.id, RunState.DONE, last.run.started_at + 900)


async def test_the_trend_holds_a_fortnight_and_tonight_once(engine: AsyncEngine) -> None:
    last = night()
    await nights(engine, last)
    report = await made_report(last, engine, POLICY, ZONE, last.run.started_at + 900)
    points = [(point.day, point.total) for point in report.trend if point.model == "qwen-plus"]
    assert report.day == DAY
    assert points == [("2026-01-29", Part(n=4, k=2)), ("2026-01-30", Part(n=4, k=2)), (DAY, Part(n=522, k=8))]


async def test_a_run_that_goes_on_past_midnight_stands_in_the_trend_on_the_day_it_began(engine: AsyncEngine) -> None:
    last, began = night(), midnight(DAY, ZONE) - 1_800
    last = replace(last, run=replace(last.run, started_at=began + DAY_S))
    evals = SqlEvals(engine)
    await evals.begin(replace(RUN, id="n-1", started_at=began))
    await evals.add([replace(result(1), run_id="n-1", model="qwen-plus")])
    await evals.finish("n-1", RunState.DONE, began + 7_200)
    report = await made_report(last, engine, POLICY, ZONE, began + DAY_S + 7_200)
    days = [point.day for point in report.trend if point.model == "qwen-plus"]
    assert days == ["2026-01-30", DAY]


async def test_yesterdays_traffic_stands_in_it_and_todays_does_not(engine: AsyncEngine) -> None:
    log, began = SqlCallLog(engine), midnight(DAY, ZONE)
    for number, at in enumerate((began - 1, began - DAY_S, began - DAY_S - 1, began)):
        log.add_call(
            CallRow(
                request_id=f"r{number}", at=at, app="", route="", scene="", session="", served_model="m", fallback="none",
                status=200, code="", verdict="clean", loop_class="", attempts=(), metrics={}, stream=False, elapsed_ms=1,
                first_text_ms=None, tokens_in=1, tokens_out=1,
            )
        )  # fmt: skip
    log.add_failed(
        FailedReply(
            request_id="r0", at=began - 5, model="m", scene="", fault="repetition_detected", loop_class="stuck", rules=(),
            metrics={}, fingerprint="", onset=None, excerpt="",
        )
    )  # fmt: skip
    await log.flush()
    report = await made_report(night(), engine, POLICY, ZONE, began)
    assert report.live == {"m": Part(n=3, k=1)}


async def test_what_is_kept_is_what_is_told(engine: AsyncEngine) -> None:
    last = night()
    made = await keep_report(last, engine, POLICY, ZONE, ManualClock(last.run.started_at + 900))
    kept = await SqlReports(engine).report(DAY)
    assert kept is not None and from_document(kept) == made
    alert = alert_of(made, 5.0)
    assert (alert.kind, alert.subject, alert.facts["worse"]) == (
        AlertKind.DAILY_REPORT,
        DAY,
        ["deepseek-chat", "glm-air"],
    )
    assert alert.facts["markdown"]["zh"].startswith("**2 个模型变差")
    assert alert.facts["markdown"]["en"].startswith("**2 worse")

"""What Prometheus reads of the monitor: what waits in the database, what this process did, every name in the guide."""

from pathlib import Path

from prometheus_client import CollectorRegistry
from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.alerts.alert import AlertKind, Severity
from monitor.alerts.notify import Notifier
from monitor.alerts.routing import Routing
from monitor.counts import MonitorCounts
from pointsman.monitor_metrics import MonitorCollector, Reader
from store.memory import MemoryLease
from store.sql_incidents import SqlAlertDesk
from store.sql_jobs import SqlJobs
from store.sql_notices import SqlNotices
from store.sql_outbox import SqlOutbox
from tests.support.clock import ManualClock
from tests.support.incidents import AT, alert, grave

GUIDE = Path(__file__).parents[2] / "docs" / "operating.md"


async def test_what_waits_is_read_from_the_database_and_told_with_what_was_done_here(engine: AsyncEngine) -> None:
    clock, counts, registry = ManualClock(AT), MonitorCounts(), CollectorRegistry()
    collector = MonitorCollector(registry, counts, clock)
    collector.channels, collector.leads = ("wecom", "slack"), lambda: True
    desk, outbox, jobs = SqlAlertDesk(engine), SqlOutbox(engine), SqlJobs(engine)
    await desk.fire(grave())
    await desk.fire(alert(AlertKind.HOURLY, subject="b", model="b", facts={"sure": False}))
    notifier = Notifier(
        SqlNotices(engine), MemoryLease(clock), "one", Routing(["wecom", "slack"]), clock, counts=counts
    )  # fmt: skip
    assert await notifier.once() == 1
    await outbox.asked("wecom", AT, 3, "rate", "errcode 45009")
    await outbox.broken("slack", AT, "no_service")
    assert await jobs.claim("hourly", "s", "one", 1, AT, due_at=AT) == 1
    await jobs.finish("hourly", "s", 1, AT + 2)
    counts.deliveries["wecom", "rate"] += 3
    counts.findings["hourly", "b", "no"] += 1
    clock.tick(20.0)
    reader = Reader(collector=collector, engine=engine, clock=clock, jobs=("hourly", "evaluate"), windows=())
    collector.waiting = await reader.once()

    def told(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"pointsman_{name}", labels)

    assert told("alert_letters", channel="wecom") == 1
    assert told("alert_oldest_letter_seconds", channel="wecom") == 20
    assert told("alert_posts_last_minute", channel="wecom") == 3
    assert told("alert_posts_last_minute", channel="slack") == 0
    assert (told("alert_robot_broken", channel="slack"), told("alert_robot_broken", channel="wecom")) == (1, 0)
    assert told("incidents_open", severity=Severity.CRITICAL.value, held="") == 1
    assert told("incidents_open", severity=Severity.WARN.value, held="unsure") == 1
    assert told("job_done_timestamp", job="hourly") == AT + 2
    assert told("job_done_timestamp", job="evaluate") is None
    assert told("alert_notices_total", kind="transition", why="first") == 1
    assert told("alert_deliveries_total", channel="wecom", result="rate") == 3
    assert told("findings_total", kind="hourly", model="b", sure="no") == 1
    assert told("monitor_leads") == 1
    assert told("monitor_read_timestamp") == AT + 20
    assert (told("anomalies_listed"), told("nightly_report_timestamp")) == (0, 0)
    text = GUIDE.read_text(encoding="utf-8")
    assert not [family.name for family in registry.collect() if f"`{family.name}`" not in text]

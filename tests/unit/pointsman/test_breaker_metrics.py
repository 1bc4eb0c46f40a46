"""What Prometheus reads of the breaker: moves decided and obeyed apart, and every name in the operating guide."""

from pathlib import Path

from prometheus_client import CollectorRegistry

from breaker.levels import Mode
from pointsman.breaker_metrics import BreakerCollector
from store.memory import MemoryTransitions
from store.redis_link import RedisLink
from store.redis_windows import RedisCounts
from store.spool import Spool
from store.spooled_transitions import SpooledTransitions
from store.sql_calls import SqlCallLog
from store.sql_feedback import SqlFeedbackLog
from store.sql_link import open_engine
from tests.support.memory_fleet import Fleet, fail

GUIDE = Path(__file__).parents[3] / "docs" / "operating.md"


async def test_moves_that_were_decided_and_those_that_are_obeyed_are_counted_apart(tmp_path: Path) -> None:
    fleet, registry = Fleet(("m", "y")), CollectorRegistry()
    guard = fleet.replica()
    calls = SqlCallLog(open_engine("sqlite://"))
    moves = SpooledTransitions(MemoryTransitions(), Spool(tmp_path, 1_000))
    feedback = SqlFeedbackLog(open_engine("sqlite://"), fleet.clock)
    BreakerCollector(registry, guard, RedisCounts(RedisLink(None, fleet.clock), fleet.clock), calls, moves, feedback)

    def decided(enforced: str) -> float | None:
        return registry.get_sample_value(
            "pointsman_breaker_moves_total", {"model": "m", "level": "open", "enforced": enforced}
        )

    await guard.force("m", Mode.OBSERVE, "op", "watch first", 0.0)
    fail(guard, 10)
    await guard.flush()
    await guard.evaluate()
    assert (decided("no"), decided("yes")) == (1.0, None)
    await guard.reset("m", "op", "for real")
    fleet.clock.tick(60.0)
    fail(guard, 10)
    await guard.flush()
    await guard.evaluate()
    assert (decided("no"), decided("yes")) == (1.0, 1.0)
    text = GUIDE.read_text(encoding="utf-8")
    assert not [family.name for family in registry.collect() if f"`{family.name}" not in text]

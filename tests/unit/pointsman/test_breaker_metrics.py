"""What Prometheus reads of the breaker: moves decided and obeyed apart, and every name in the operating guide."""

from pathlib import Path

from prometheus_client import CollectorRegistry

from breaker.levels import Level, Mode
from pointsman.breaker_metrics import BreakerCollector
from store.memory import MemoryTransitions
from store.redis_link import RedisLink
from store.redis_windows import RedisCounts
from store.spool import Spool
from store.spooled_transitions import SpooledTransitions
from store.sql_calls import SqlCallLog
from store.sql_feedback import SqlFeedbackLog
from store.sql_link import open_engine
from tests.support.memory_fleet import Fleet, fail, talk

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


async def test_a_sample_too_small_to_judge_is_a_gauge_of_the_process_that_evaluates(tmp_path: Path) -> None:
    """Row 8 of the breaker's table: 29 bad of 29 within 15 minutes move nothing, and that shows."""
    fleet, registry = Fleet(("m", "y")), CollectorRegistry()
    guard, other = fleet.replica("a"), fleet.replica("b")
    calls, feedback = SqlCallLog(open_engine("sqlite://")), SqlFeedbackLog(open_engine("sqlite://"), fleet.clock)
    moves = SpooledTransitions(MemoryTransitions(), Spool(tmp_path, 1_000))
    BreakerCollector(registry, guard, RedisCounts(RedisLink(None, fleet.clock), fleet.clock), calls, moves, feedback)

    def shown(gauge: str, model: str = "m") -> float | None:
        return registry.get_sample_value(f"pointsman_{gauge}", {"model": model})

    assert shown("insufficient_sample") is None
    for _ in range(14):
        talk(guard, 0, 2)
        await guard.flush()
        fleet.clock.tick(60.0)
    talk(guard, 0, 1)
    await guard.flush()
    fleet.clock.tick(63.0)
    await guard.evaluate()
    assert guard.levels()["m"] is Level.HEALTHY
    assert (shown("insufficient_sample"), shown("probes_wanted")) == (1.0, 1.0)
    assert (shown("insufficient_sample", "y"), shown("probes_wanted", "y")) == (1.0, 0.0)
    fleet.clock.tick(10.0)  # the lease ends, another replica takes it over
    await other.evaluate()
    await guard.evaluate()
    assert shown("insufficient_sample") is None
    text = GUIDE.read_text(encoding="utf-8")
    assert not [family.name for family in registry.collect() if f"`{family.name}" not in text]

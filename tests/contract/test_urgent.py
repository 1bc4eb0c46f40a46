"""With the database away, a model that is cut or opened is told all the same, by one monitor alone."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.ports import Lease, StoreUnavailable
from breaker.snapshot import Transition
from monitor.alerts.channel import Channel
from monitor.alerts.notify import Notifier
from monitor.alerts.render import Renderer
from monitor.alerts.routing import Routing
from monitor.alerts.templates import Templates
from monitor.alerts.urgent import Urgent
from store.memory import MemoryLease
from store.migrate import upgrade
from store.spool import Spool
from store.spooled_transitions import SpooledTransitions
from store.sql_link import open_engine
from store.sql_outbox import SqlOutbox
from store.sql_transitions import SqlTransitions
from tests.support.clock import ManualClock
from tests.support.incidents import AT
from tests.support.robots import Robots
from tests.support.telling import newsroom


def move(epoch: int, to: Level, at: float = AT, *, enforced: bool = True) -> Transition:
    return Transition(
        model="a", epoch=epoch, at=at, from_level=Level.HEALTHY, to_level=to, reasons=(Reason.STUCK_STREAMS,),
        enforced=enforced,
    )  # fmt: skip


class Away(MemoryLease):
    async def hold(self, name: str, owner: str, ttl_s: float) -> int | None:
        raise StoreUnavailable("redis gone")


@pytest.fixture
async def robots() -> AsyncIterator[Robots]:
    async with Robots() as made:
        yield made


def urgent(
    robots: Robots, client: httpx.AsyncClient, lease: Lease, moves: list[Transition], owner: str = "one"
) -> Urgent:
    clock = ManualClock(AT + 10)
    channels = [Channel(name=kind, kind=kind, url=robots.url(kind), language="en") for kind in ("wecom", "feishu")]  # type: ignore[arg-type]
    renderer = Renderer(Templates(), clock, BreakerPolicy().model_dump(), link_base="http://c")
    return Urgent(lambda: moves, lease, owner, channels, renderer, client, clock)


async def test_what_opened_is_told_once_by_one_monitor(robots: Robots) -> None:
    lease, moves = MemoryLease(ManualClock(AT)), [move(1, Level.WARN), move(2, Level.OPEN)]
    async with httpx.AsyncClient() as client:
        one, two = (urgent(robots, client, lease, moves, name) for name in ("one", "two"))
        assert [await one.once(AT - 5), await two.once(AT - 5), await one.once(AT - 5)] == [1, 0, 0]
    assert robots.asked == ["wecom", "feishu"]
    (text,) = robots.texts("wecom")
    assert "a: L3 open" in text
    assert "The database takes nothing at the moment" in text, "it may well be there and be read"
    assert "A0" not in text


def fleet(count: int) -> list[Transition]:
    return [replace(move(1, Level.OPEN), model=f"m{number}") for number in range(count)]


@pytest.mark.parametrize("redis", [MemoryLease, Away], ids=["redis", "no redis either"])
async def test_a_fleet_that_falls_keeps_within_each_robots_budget_and_names_every_model(
    robots: Robots, redis: type[MemoryLease]
) -> None:
    lease, moves = redis(ManualClock(AT)), fleet(40)
    async with httpx.AsyncClient() as client:
        one = urgent(robots, client, lease, moves)
        assert await one.once(AT - 5) == 40
        assert robots.asked == ["wecom"] * 5 + ["feishu"] * 5
        texts = robots.texts("wecom")
        assert all(f"m{number}: L3 open" in "\n".join(texts) for number in range(5))
        assert "36" in texts[-1] and "``" not in texts[-1]
        # Within the same minute nobody asks the robot again, not another monitor either.
        moves.append(move(9, Level.OPEN))
        assert await one.once(AT - 5) == 0
        if redis is MemoryLease:
            assert await urgent(robots, client, lease, fleet(41)[40:], "two").once(AT - 5) == 0
    assert len(robots.asked) == 10


async def test_what_was_sent_without_the_database_counts_against_the_budget_when_it_is_back(
    robots: Robots, engine: AsyncEngine
) -> None:
    outbox = SqlOutbox(engine)
    async with httpx.AsyncClient() as client:
        one = urgent(robots, client, MemoryLease(ManualClock(AT)), fleet(3))
        await one.once(AT - 5)
    for _ in range(2):
        await one.note(outbox)
    assert await outbox.posts(AT) == {"wecom": 3, "feishu": 3}


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(move(1, Level.WARN), id="a warning can wait"),
        pytest.param(move(1, Level.HEALTHY), id="well again"),
        pytest.param(move(1, Level.OPEN, enforced=False), id="not enforced"),
        pytest.param(move(1, Level.OPEN, AT - 60), id="told before the store fell silent"),
    ],
)
async def test_the_rest_waits_for_the_database(robots: Robots, what: Transition) -> None:
    async with httpx.AsyncClient() as client:
        assert await urgent(robots, client, MemoryLease(ManualClock(AT)), [what]).once(AT - 5) == 0
    assert robots.asked == []


async def test_with_redis_gone_as_well_it_is_told_and_a_dead_robot_is_tried_again(robots: Robots) -> None:
    robots.dead.update({"wecom", "feishu"})
    async with httpx.AsyncClient() as client:
        one = urgent(robots, client, Away(ManualClock(AT)), [move(1, Level.REDUCED)])
        assert await one.once(AT - 5) == 0
        robots.dead.clear()
        assert await one.once(AT - 5) == 1
        assert await one.once(AT - 5) == 0


async def test_a_model_that_opened_was_told_to_nobody_while_the_database_could_be_read_and_took_nothing(
    tmp_path: Path, robots: Robots
) -> None:
    """A full disk, and a server that became a replica."""
    url, only_read = f"sqlite:///{tmp_path / 'pm.db'}", [1]
    await upgrade(url)
    engine, spool = open_engine(url), Spool(tmp_path / "spool", 0)
    event.listen(engine.sync_engine, "connect", lambda one, _: one.execute(f"PRAGMA query_only={only_read[0]}"))
    moves, opened = SpooledTransitions(SqlTransitions(engine), spool), move(1, Level.OPEN)
    async with newsroom(engine, "wecom") as room, httpx.AsyncClient() as client:
        aside = urgent(robots, client, MemoryLease(room.clock), [opened])
        unfiled = lambda: moves.waits_since  # noqa: E731
        notifier = Notifier(
            room.notices, MemoryLease(room.clock), "one", Routing(["wecom"]), room.clock,
            urgent=aside.once, unfiled=unfiled,
        )  # fmt: skip
        with pytest.raises(StoreUnavailable):
            await moves.append(opened)
        await notifier.round()
        assert robots.asked == [], "a lock that is held for a moment is waited for"
        for _ in range(2):
            room.clock.tick(10)
            await notifier.round()
        assert robots.asked == ["wecom", "feishu"]
        assert "a: L3 open" in robots.texts("wecom")[0]
        only_read[0] = 0
        await engine.dispose()
        assert await moves.append(opened)
        await notifier.round()
        assert (unfiled(), notifier.filed) == (None, 1), "with a number, once the database takes it"
    await engine.dispose()
    spool.close()


async def test_the_notifier_takes_the_other_way_while_its_store_is_away() -> None:
    clock, asked = ManualClock(AT), list[float]()

    class Gone:
        async def groups(self) -> None:
            raise StoreUnavailable("sql gone")

    async def other_way(since: float) -> int:
        asked.append(since)
        return 0

    notifier = Notifier(Gone(), MemoryLease(clock), "one", Routing(["w"]), clock, urgent=other_way)  # type: ignore[arg-type]
    running = asyncio.create_task(notifier.run())
    await clock.advance(2.5)
    running.cancel()
    assert asked == [AT - 5.0] * 3

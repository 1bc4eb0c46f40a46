"""The port AlertDesk over memory, SQLite and PostgreSQL; and how the breaker's moves become incidents."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.levels import Level, Reason
from breaker.snapshot import Transition
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.alerts.incident import Incident
from monitor.ports import AlertDesk
from store.documents import from_row
from store.memory_desk import MemoryDesk
from store.sql_incidents import SqlAlertDesk
from store.sql_transitions import SqlTransitions
from store.tables import incident, incident_event

AT = 1_700_000_000.0


def found(at: float = AT, **more: Any) -> Alert:
    given = {"kind": AlertKind.SCENE, "subject": "a", "model": "a", "scene": "qa", "severity": Severity.WARN}
    return Alert(**{**given, "at": at, **more})


def move(epoch: int, was: Level, to: Level, at: float, *, ratio: float = 0.0, enforced: bool = True) -> Transition:
    numbers = (("ratio_30m.ratio", ratio), ("ratio_30m.n", 80.0), ("ratio_30m.line", 0.15)) if ratio else ()
    return Transition(
        model="a", epoch=epoch, at=at, from_level=was, to_level=to, reasons=(Reason.RATIO_30M,), numbers=numbers,
        enforced=enforced,
    )  # fmt: skip


async def kept(engine: AsyncEngine) -> list[Incident]:
    async with engine.connect() as connection:
        rows = (await connection.execute(select(incident).order_by(incident.c.id))).mappings().all()
    return [from_row(Incident, row) for row in rows]


async def events(engine: AsyncEngine) -> list[str]:
    async with engine.connect() as connection:
        return list((await connection.execute(select(incident_event.c.event).order_by(incident_event.c.id))).scalars())


@dataclass
class World:
    desk: AlertDesk
    incidents: Callable[[], Awaitable[list[Incident]]]


@pytest.fixture
def world(engine: AsyncEngine) -> World:
    return World(SqlAlertDesk(engine), lambda: kept(engine))


@pytest.fixture
def memory() -> World:
    desk = MemoryDesk()

    async def incidents() -> list[Incident]:
        return desk.incidents

    return World(desk, incidents)


async def test_firing_again_adds_a_revision_and_no_second_incident(world: World) -> None:
    await world.desk.fire(found(facts={"ratio": 0.1, "n": 40}))
    await world.desk.fire(found(AT + 60, facts={"ratio": 0.3, "n": 50}))
    await world.desk.fire(found(AT + 120, facts={"ratio": 0.2, "n": 60}))
    (one,) = await world.incidents()
    assert (one.revision, one.opened_at, one.updated_at) == (3, AT, AT + 120)
    assert (one.peak_ratio, one.samples, one.facts["ratio"]) == (0.3, 50, 0.2)
    assert one.firing


async def test_what_was_never_fired_is_not_resolved(world: World) -> None:
    await world.desk.resolve(found())
    assert await world.incidents() == []


async def test_after_it_was_resolved_the_condition_may_come_again_as_a_new_incident(world: World) -> None:
    await world.desk.fire(found())
    await world.desk.resolve(found(AT + 60, facts={"ratio": 0.01}))
    await world.desk.resolve(found(AT + 70))
    await world.desk.fire(found(AT + 120))
    first, second = await world.incidents()
    assert (first.resolved_at, second.firing) == (AT + 60, True)


async def test_a_report_handed_in_again_after_the_end_opens_nothing(world: World) -> None:
    await world.desk.fire(found())
    await world.desk.resolve(found(AT + 60))
    await world.desk.fire(found())
    assert [one.firing for one in await world.incidents()] == [False]


async def test_a_moment_handed_in_twice_is_kept_once_and_the_next_one_again(world: World) -> None:
    for at in (AT, AT, AT + 60):
        await world.desk.fire(found(at, kind=AlertKind.MODEL_CHANGED))
    one, two = await world.incidents()
    assert (one.opened_at, two.opened_at) == (AT, AT + 60)
    assert not one.firing


async def test_worse_lifts_the_ack_by_its_severity(world: World) -> None:
    await world.desk.fire(found())
    await world.desk.fire(found(AT + 60, severity=Severity.CRITICAL))
    await world.desk.fire(found(AT + 120, severity=Severity.WARN))
    (one,) = await world.incidents()
    assert (one.severity, one.peak_severity, one.stage) == (Severity.WARN, Severity.CRITICAL, "warn")


async def test_the_desk_in_memory_keeps_the_same_rules(memory: World) -> None:
    await test_firing_again_adds_a_revision_and_no_second_incident(memory)
    await memory.desk.resolve(found(AT + 200))
    await memory.desk.fire(found(AT + 150))
    await memory.desk.resolve(found(AT + 300))
    for at in (AT, AT, AT + 60):
        await memory.desk.fire(found(at, kind=AlertKind.MODEL_CHANGED))
    assert [one.firing for one in await memory.incidents()] == [False] * 3


async def test_replicas_that_report_one_condition_at_once_open_one_incident(engine: AsyncEngine) -> None:
    desk = SqlAlertDesk(engine)
    await asyncio.gather(*(desk.fire(found(AT + at)) for at in range(6)))
    (one,) = await kept(engine)
    assert one.firing
    assert (await events(engine)).count("fired") == 1


async def test_a_model_s_incident_goes_from_the_first_level_until_it_is_healthy_again(engine: AsyncEngine) -> None:
    log = SqlTransitions(engine)
    path = [Level.HEALTHY, Level.WARN, Level.REDUCED, Level.OPEN, Level.RECOVERING, Level.REDUCED, Level.HEALTHY]
    for epoch, (was, to) in enumerate(itertools.pairwise(path), start=1):
        await log.append(move(epoch, was, to, AT + 60 * epoch, ratio=0.1 * epoch if epoch < 4 else 0.0))
        await log.append(move(epoch, was, to, AT + 60 * epoch))  # another replica files it too
    (one,) = await kept(engine)
    assert (one.opened_at, one.resolved_at) == (AT + 60, AT + 360)
    assert (one.peak_severity, round(one.peak_ratio, 3), one.samples) == (Severity.CRITICAL, 0.3, 80)
    assert await events(engine) == ["fired", "changed", "changed", "changed", "changed", "resolved"]


async def test_a_move_filed_late_does_not_reopen_what_is_over(engine: AsyncEngine) -> None:
    log = SqlTransitions(engine)
    await log.append(move(1, Level.HEALTHY, Level.WARN, AT))
    await log.append(move(3, Level.OPEN, Level.RECOVERING, AT + 600))
    await log.append(move(2, Level.WARN, Level.OPEN, AT + 60))
    (one,) = await kept(engine)
    assert one.stage == "recovering"
    assert await events(engine) == ["fired", "changed", "late"]
    await log.append(move(5, Level.REDUCED, Level.HEALTHY, AT + 900))
    await log.append(move(4, Level.RECOVERING, Level.REDUCED, AT + 800))
    (one,) = await kept(engine)
    assert not one.firing


async def test_what_is_decided_and_not_enforced_is_told_as_a_warning(engine: AsyncEngine) -> None:
    await SqlTransitions(engine).append(move(1, Level.HEALTHY, Level.OPEN, AT, enforced=False))
    (one,) = await kept(engine)
    assert (one.severity, one.stage) == (Severity.WARN, "open")


async def test_an_operator_s_word_on_a_healthy_model_is_no_incident(engine: AsyncEngine) -> None:
    await SqlTransitions(engine).append(move(1, Level.HEALTHY, Level.HEALTHY, AT))
    assert await kept(engine) == []

"""The ports FeedbackLog and Complaints over SQLite and PostgreSQL."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from base.feedback import FeedbackKind, FeedbackSource
from breaker.ports import StoreUnavailable
from router.ports import Answered, Feedback
from store.spool import Spool
from store.sql_calls import SqlCallLog
from store.sql_feedback import BIND_WITHIN_S, SqlComplaints, SqlFeedbackLog
from tests.contract.test_call_log import CALL
from tests.support.clock import ManualClock

TO = Answered(request_id="pm-1", app="car", model="a", route="chat", scene="qa", at=CALL.at)
SAID = Feedback(
    id="1", request_id="pm-1", app="car", user_hash="u1", at=CALL.at + 60, kind=FeedbackKind.REPETITION,
    source=FeedbackSource.USER, note="一直重复", answered=TO,
)  # fmt: skip


async def with_a_call(engine: AsyncEngine) -> None:
    calls = SqlCallLog(engine)
    calls.add_call(CALL)
    await calls.flush()


async def test_what_was_said_comes_back_with_the_model_that_answered(engine: AsyncEngine, clock: ManualClock) -> None:
    log, reads = SqlFeedbackLog(engine, clock), SqlComplaints(engine)
    log.add(SAID)
    await log.flush()
    (sample,) = await reads.samples("a", 0, SAID.at + 1)
    assert (sample.request_id, sample.model, sample.note, sample.asked_at) == ("pm-1", "a", "一直重复", CALL.at)
    assert (sample.kind, sample.source) == (FeedbackKind.REPETITION, FeedbackSource.USER)
    assert await log.filed("car", "u1", "pm-1")
    assert not await log.filed("car", "u2", "pm-1")


async def test_one_person_counts_once_for_one_reply(engine: AsyncEngine, clock: ManualClock) -> None:
    log = SqlFeedbackLog(engine, clock)
    log.add(SAID)
    log.add(replace(SAID, id="2", kind=FeedbackKind.SLOW))
    await log.flush()
    (tally,) = await SqlComplaints(engine).tallies(0, SAID.at + 1)
    assert (tally.complaints, tally.by_kind) == (1, {FeedbackKind.REPETITION: 1})


async def test_a_tally_counts_people_and_leaves_praise_and_phrases_out(engine: AsyncEngine, clock: ManualClock) -> None:
    log = SqlFeedbackLog(engine, clock)
    for number, (user, kind, model) in enumerate(
        [
            ("u1", FeedbackKind.REPETITION, "a"),
            ("u1", FeedbackKind.SLOW, "a"),
            ("u2", FeedbackKind.REPETITION, "a"),
            ("u3", FeedbackKind.GOOD, "a"),
            ("u4", FeedbackKind.EMPTY, "b"),
            ("u5", FeedbackKind.OTHER, ""),
        ]
    ):
        to = replace(TO, model=model, request_id=f"pm-{number}")
        log.add(replace(SAID, id=str(number), request_id=to.request_id, user_hash=user, kind=kind, answered=to))
    await log.flush()
    first, second = await SqlComplaints(engine).tallies(SAID.at, SAID.at + 1)
    assert (first.model, first.complaints, first.users) == ("a", 3, 2)
    assert first.by_kind == {FeedbackKind.REPETITION: 2, FeedbackKind.SLOW: 1, FeedbackKind.GOOD: 1}
    assert (second.model, second.users) == ("b", 1)
    assert await SqlComplaints(engine).tallies(SAID.at + 1, SAID.at + 2) == []
    assert {it.kind for it in await SqlComplaints(engine).samples("a", 0, SAID.at + 1)} == {
        FeedbackKind.REPETITION,
        FeedbackKind.SLOW,
    }


async def test_what_came_while_sql_was_away_is_bound_when_it_is_back(engine: AsyncEngine, clock: ManualClock) -> None:
    log = SqlFeedbackLog(engine, clock)
    async with engine.begin() as connection:
        await connection.execute(text('ALTER TABLE "call" RENAME TO away'))
    log.add(replace(SAID, at=clock.now_s(), answered=None))
    with pytest.raises(StoreUnavailable):
        await log.flush()
    assert log.waiting == 1
    async with engine.begin() as connection:
        await connection.execute(text('ALTER TABLE away RENAME TO "call"'))
    await log.flush()
    assert log.waiting == 1  # its call row may still wait in another replica's queue
    await with_a_call(engine)
    await log.flush()
    assert log.waiting == 0
    assert [it.model for it in await SqlComplaints(engine).samples("a", 0, clock.now_s() + 1)] == ["a"]


async def test_feedback_on_a_request_that_never_turns_up_is_counted_and_forgotten(
    engine: AsyncEngine, clock: ManualClock
) -> None:
    log = SqlFeedbackLog(engine, clock)
    log.add(replace(SAID, at=clock.now_s(), answered=None))
    clock.tick(BIND_WITHIN_S + 1)
    await log.flush()
    assert (log.waiting, log.unknown) == (1, 0), "SQL was asked for the first time: call rows may still be on their way"
    clock.tick(BIND_WITHIN_S + 1)
    await log.flush()
    assert (log.waiting, log.unknown) == (0, 1)


async def test_another_apps_request_is_not_bound(engine: AsyncEngine, clock: ManualClock) -> None:
    await with_a_call(engine)
    log = SqlFeedbackLog(engine, clock)
    log.add(replace(SAID, app="phone", at=clock.now_s(), answered=None))
    await log.flush()
    assert (log.waiting, log.unknown) == (0, 1)


async def test_a_request_is_found_by_id_or_by_person_and_time(engine: AsyncEngine, clock: ManualClock) -> None:
    await with_a_call(engine)
    log = SqlFeedbackLog(engine, clock)
    assert await log.answered("pm-1") == TO
    assert await log.answered("pm-2") is None
    assert await log.near("car", "s1", CALL.at + 100, 120) == TO
    assert await log.near("car", "s1", CALL.at + 121, 120) is None
    assert await log.near("phone", "s1", CALL.at, 120) is None


async def test_the_nearest_of_several_requests_is_taken(engine: AsyncEngine, clock: ManualClock) -> None:
    calls = SqlCallLog(engine)
    for number in range(3):
        calls.add_call(replace(CALL, request_id=f"pm-{number}", at=CALL.at + number * 60))
    await calls.flush()
    found = await SqlFeedbackLog(engine, clock).near("car", "s1", CALL.at + 70, 300)
    assert found is not None and found.request_id == "pm-1"


async def test_old_feedback_goes(engine: AsyncEngine, clock: ManualClock) -> None:
    log, reads = SqlFeedbackLog(engine, clock), SqlComplaints(engine)
    log.add(SAID)
    await log.flush()
    assert await reads.forget(SAID.at) == 0
    assert await reads.forget(SAID.at + 1) == 1


async def test_bound_words_outlive_an_outage_and_a_restart_on_disk(
    engine: AsyncEngine, clock: ManualClock, tmp_path: Path
) -> None:
    spool = Spool(tmp_path, 1_000_000)
    log = SqlFeedbackLog(engine, clock, spool=spool)
    async with engine.begin() as connection:
        await connection.execute(text("ALTER TABLE feedback RENAME TO away"))
    log.add(SAID)
    await log.close()
    assert (log.dropped, log.spooled_bytes > 0) == (0, True)
    spool.close()
    async with engine.begin() as connection:
        await connection.execute(text("ALTER TABLE away RENAME TO feedback"))
    again = Spool(tmp_path, 1_000_000)
    await SqlFeedbackLog(engine, clock, spool=again).flush()
    again.close()
    assert [it.request_id for it in await SqlComplaints(engine).samples("a", 0, SAID.at + 1)] == ["pm-1"]


async def test_words_that_nobody_could_look_up_outlive_an_outage_and_a_restart_on_disk(
    engine: AsyncEngine, clock: ManualClock, tmp_path: Path
) -> None:
    spool = Spool(tmp_path, 1_000_000)
    log = SqlFeedbackLog(engine, clock, spool=spool)
    async with engine.begin() as connection:
        await connection.execute(text('ALTER TABLE "call" RENAME TO away'))
    log.add(replace(SAID, at=clock.now_s(), answered=None))
    with pytest.raises(StoreUnavailable):
        await log.flush()
    await log.spill()
    assert (log.waiting, log.dropped, log.spooled_bytes > 0) == (0, 0, True), "also what kill -9 would take"
    await log.close()
    spool.close()
    async with engine.begin() as connection:
        await connection.execute(text('ALTER TABLE away RENAME TO "call"'))
    clock.tick(3_600)
    again = Spool(tmp_path, 1_000_000)
    restarted = SqlFeedbackLog(engine, clock, spool=again)
    await restarted.flush()  # reads the disk
    await restarted.flush()  # asks, and is told of no such request
    await with_a_call(engine)
    await restarted.flush()
    again.close()
    assert (restarted.waiting, restarted.unknown) == (0, 0)
    assert [it.note for it in await SqlComplaints(engine).samples("a", 0, clock.now_s())] == ["一直重复"]


async def test_words_too_young_to_be_given_up_wait_on_disk_for_the_next_process(
    engine: AsyncEngine, clock: ManualClock, tmp_path: Path
) -> None:
    spool = Spool(tmp_path, 1_000_000)
    log = SqlFeedbackLog(engine, clock, spool=spool)
    log.add(replace(SAID, at=clock.now_s(), answered=None))
    await log.close()
    assert (log.dropped, log.unknown, log.spooled_bytes > 0) == (0, 0, True)
    spool.close()

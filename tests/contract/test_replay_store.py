"""Stored replies as the replay reads them, and marks, over SQLite and PostgreSQL."""

from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.replay.records import Stored
from router.ports import CallRow, FailedReply
from store.sql_calls import SqlCallLog
from store.sql_replay import Mark, SqlReplay

CALL = CallRow(
    request_id="r1", at=100.0, app="", route="", scene="qa", session="", served_model="b", fallback="model", status=200,
    code="", verdict="clean", loop_class="", attempts=(), metrics={"trigram_repeat": 0.2}, stream=False, elapsed_ms=1,
    first_text_ms=None, tokens_in=1, tokens_out=1,
)  # fmt: skip
FAILED = FailedReply(
    request_id="r1", at=99.0, model="a", scene="qa", fault="repetition_detected", loop_class="stuck", rules=("stuck",),
    metrics={"cycle_count": 40.0}, fingerprint="f", onset=3, excerpt="好好好好好好",
)  # fmt: skip


async def filled(engine: AsyncEngine) -> SqlReplay:
    log = SqlCallLog(engine)
    for number in range(5):
        log.add_call(replace(CALL, request_id=f"r{number}", at=100.0 + number))
        log.add_failed(replace(FAILED, request_id=f"r{number}", at=99.0 + number))
    log.add_call(replace(CALL, request_id="refused", served_model="", status=503))
    log.add_call(replace(CALL, request_id="embedding", metrics={}))
    log.add_call(replace(CALL, request_id="cleaned", at=101.0, served_model="c", verdict="degenerate"))
    log.add_failed(replace(FAILED, request_id="cleaned", at=101.0, model="c"))
    log.add_failed(replace(FAILED, request_id="broken", loop_class="", fault="server_error"))
    await log.flush()
    return SqlReplay(engine, page=2)


async def all_of(replay: SqlReplay, since: float, until: float, model: str | None = None) -> list[Stored]:
    return [reply async for reply in replay.replies(since, until, model=model)]


async def test_every_judged_reply_is_read_once_page_by_page(engine: AsyncEngine) -> None:
    replay = await filled(engine)
    found = await all_of(replay, 0.0, 1_000.0)
    assert sorted((r.model, r.said) for r in found) == [("a", True)] * 5 + [("b", False)] * 5 + [("c", True)]
    looped = next(r for r in found if r.model == "a")
    assert (looped.text, looped.scene, looped.metrics) == ("好好好好好好", "qa", {"cycle_count": 40.0})
    assert next(r for r in found if r.model == "b").text is None


async def test_time_and_model_narrow_it(engine: AsyncEngine) -> None:
    replay = await filled(engine)
    assert [r.at for r in await all_of(replay, 101.0, 103.0, "b")] == [101.0, 102.0]
    assert {r.model for r in await all_of(replay, 0.0, 1_000.0, "c")} == {"c"}


async def test_marked_replies_are_the_labelled_set(engine: AsyncEngine) -> None:
    replay = await filled(engine)
    assert await replay.mark("r1", Mark.WRONG) == 1
    assert await replay.mark("r2", Mark.RIGHT) == 1
    assert await replay.mark("r3", Mark.RIGHT) == 1
    assert await replay.mark("r3", Mark.NONE) == 1
    assert await replay.mark("nobody", Mark.RIGHT) == 0
    assert [r.truth async for r in replay.marked(0.0, 1_000.0)] == [False, True]
    one, _ = [r async for r in replay.marked(0.0, 1_000.0)]
    assert await replay.mark(one.id, Mark.RIGHT) == 1
